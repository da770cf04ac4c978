-- name: candidates
-- The pool for one query in one round trip: the best by BM25, the nearest by vector, the turns around them, and
-- for each of them both measures exactly. {dense} is one of the two forms below; {where} and {dense_where} are
-- the caller's conditions; `matched` has a bit for each term of the query, `weights` (first row only) their idf;
-- "lateral ... offset 0" makes the planner look a few rows up by key, whatever it believes of the table's size.
-- {scopes_p} and {scopes_e} narrow to the visible scopes where they are known.
with posted as materialized (
    -- Every visible posting of the query's terms, read once.
    select t.place, p.memory_id, p.tf, p.dl
    from unnest(%(terms)s::text[]) with ordinality as t(term, place)
    join recollect.posting p on p.tenant_id = %(tenant)s and p.term = t.term collate "C" {scopes_p}
), weight as materialized (
    -- Counting here, under row-level security, makes the statistics those of the visible memories. The formula is
    -- that of retrieval/rank/lexical.py, which says why a hundred more memories are supposed.
    select t.place, 1::bigint << (t.place - 1)::int as bit,
        ln(1::float8 + (greatest(%(n)s::float8, coalesce(x.df, 0)) + 99.5::float8 - coalesce(x.df, 0))
            / (coalesce(x.df, 0) + 1.5::float8))::float4 as idf
    from unnest(%(terms)s::text[]) with ordinality as t(term, place)
    left join (select place, count(*)::float8 as df from posted group by place) x on x.place = t.place
), scored as materialized (
    select p.memory_id,
        sum(w.idf * p.tf * 2.2::float4
            / (p.tf + 1.2::float4 * (0.25::float4 + 0.75::float4 * p.dl / %(avg_dl)s::float4))) as bm25,
        bit_or(w.bit) as matched
    from posted p join weight w on w.place = p.place
    group by p.memory_id
), lexical as materialized (
    select s.memory_id, s.bm25
    from (select * from scored order by bm25 desc, memory_id) s
    cross join lateral (select from recollect.memory m
        where m.tenant_id = %(tenant)s and m.memory_id = s.memory_id and {where} offset 0) m
    order by s.bm25 desc, s.memory_id
    limit %(lexical_limit)s
), dense as materialized (
    {dense}
), best as materialized (
    (select memory_id from lexical order by bm25 desc limit %(anchors)s)
    union
    (select memory_id from dense order by distance limit %(anchors)s)
), pool as materialized (
    select memory_id from lexical
    union
    select memory_id from dense
    union
    select n.memory_id
    from best b
    cross join lateral (select a.conversation_id, a.position from recollect.memory a
        where a.tenant_id = %(tenant)s and a.memory_id = b.memory_id and a.conversation_id is not null offset 0) a
    cross join lateral (select n.memory_id from recollect.memory n
        where n.tenant_id = %(tenant)s and n.conversation_id = a.conversation_id
            and n.position between a.position - %(reach)s and a.position + %(reach)s offset 0) n
)
select m.memory_id, m.scope_id, m.layer, m.type, m.digest, m.conversation_id, m.position, m.speaker, m.importance,
    m.use_count, m.utility, m.created_at, m.valid_from,
    e.distance, coalesce(s.bm25, 0)::float8 as bm25, coalesce(s.matched, 0) as matched,
    case when row_number() over () = 1 then (select array_agg(w.idf::float8 order by w.place) from weight w) end as weights,
    l.memory_id is not null as by_lexical, d.memory_id is not null as by_dense
from pool p
cross join lateral (select * from recollect.memory m
    where m.tenant_id = %(tenant)s and m.memory_id = p.memory_id and {where} offset 0) m
left join scored s on s.memory_id = p.memory_id
left join lexical l on l.memory_id = p.memory_id
left join (select distinct memory_id from dense) d on d.memory_id = p.memory_id
left join lateral (
    select min(e.embedding::halfvec({dimensions}) <=> %(vector)s::halfvec({dimensions})) as distance
    from recollect.embedding e
    where e.tenant_id = %(tenant)s and e.space_id = %(space)s and e.memory_id = p.memory_id
) e on %(vector)s::halfvec is not null;

-- name: dense_exact
-- Slot of `candidates`: every visible vector compared; "+ 0" keeps the vector index out.
select e.memory_id, (e.embedding::halfvec({dimensions}) <=> %(vector)s::halfvec({dimensions})) + 0 as distance
from recollect.embedding e {dense_join}
where e.tenant_id = %(tenant)s and e.space_id = %(space)s {scopes_e}
    and e.since <= %(known_by)s and e.until > %(at)s and {dense_where}
order by 2
limit %(dense_limit)s;

-- name: dense_index
-- Slot of `candidates`: the vector index, scanned on while conditions reject what it finds.
select e.memory_id, e.embedding::halfvec({dimensions}) <=> %(vector)s::halfvec({dimensions}) as distance
from recollect.embedding e {dense_join}
where e.tenant_id = %(tenant)s and e.space_id = {space} {scopes_e}
    and e.since <= %(known_by)s and e.until > %(at)s and {dense_where}
order by e.embedding::halfvec({dimensions}) <=> %(vector)s::halfvec({dimensions})
limit %(dense_limit)s;

-- name: dense_none
-- Slot of `candidates`: no vectors (an empty store, or no embedder).
select null::uuid as memory_id, null::float8 as distance where false;

-- name: fetch_hits
-- What a hit shows, for the few that are returned; the vector's first part serves de-duplication.
select m.memory_id, m.text, m.layer, s.name as scope_name, m.type, m.created_at, m.metadata,
    c.name as conversation, m.speaker, m.position, m.entities
from recollect.memory m
join recollect.scope s on s.tenant_id = m.tenant_id and s.scope_id = m.scope_id
left join recollect.conversation c on c.tenant_id = m.tenant_id and c.conversation_id = m.conversation_id
where m.tenant_id = %(tenant)s and m.memory_id = any(%(ids)s::uuid[]);

-- name: fetch_vectors
-- First-part vectors of a few memories, to find near-duplicates among them.
select e.memory_id, e.embedding from recollect.embedding e
where e.tenant_id = %(tenant)s and e.space_id = %(space)s and e.part = 0 and e.memory_id = any(%(ids)s::uuid[]);
