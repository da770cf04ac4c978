-- name: lexical
-- The best memories by BM25, with each term's weight and in how many visible memories it stands, as one row of
-- arrays. {where} has the caller's conditions; {scopes_p} narrows to the visible scopes where they are known.
with weight as materialized (
    -- Counting here, under row-level security, makes the statistics those of the visible memories; `known` has
    -- counts of common terms from before. A term over the budget of postings is not counted to the end: it hardly
    -- leads, and by Zipf's law half of such terms stand in less than twice as many memories. The formula is that of
    -- retrieval/rank/pool.py, which says why a hundred more memories are supposed.
    -- The rarest terms lead: they alone find candidates, as many as fit into the budget of postings. What a common
    -- word adds to a candidate is looked up afterwards; what it alone would find is nothing anybody asked for. If no
    -- term is rare, the first leads to the newest memories that have it.
    select x.term, x.place, x.df,
        ln(1::float8 + (greatest(%(n)s::float8, x.df) + 99.5::float8 - x.df) / (x.df + 1.5::float8))::float4 as idf,
        sum(x.df) over rarest <= %(posting_budget)s or row_number() over rarest = 1 as leads
    from (
        select t.term, t.place, coalesce(t.known, (
            select case when count(*) > %(posting_budget)s then 2.0 * %(posting_budget)s else count(*) end::float8
            from (select from {posting} p where p.tenant_id = %(tenant)s and p.term = t.term collate "C" {scopes_p}
                limit %(posting_budget)s + 1) p)) as df
        from unnest(%(terms)s::text[], %(known)s::float8[]) with ordinality as t(term, known, place) offset 0) x
    window rarest as (partition by x.df > 0 order by x.df, x.place)
), scored as materialized (
    select p.memory_id,
        sum(w.idf * p.tf * 2.2::float4
            / (p.tf + 1.2::float4 * (0.25::float4 + 0.75::float4 * p.dl / %(avg_dl)s::float4))) as bm25
    from weight w
    cross join lateral (select p.memory_id, p.tf, p.dl from {posting} p
        where p.tenant_id = %(tenant)s and p.term = w.term collate "C" {scopes_p}
        order by p.memory_id desc limit %(posting_budget)s) p
    where w.df > 0 and w.leads
    group by p.memory_id
), best as materialized (
    select s.memory_id, s.bm25
    from (select * from scored order by bm25 desc, memory_id) s
    cross join lateral (select from {memory} m
        where m.tenant_id = %(tenant)s and m.memory_id = s.memory_id and {where} offset 0) m
    order by s.bm25 desc, s.memory_id
    limit %(lexical_limit)s
)
select (select array_agg(b.memory_id order by b.bm25 desc, b.memory_id) from best b) as ids,
    (select array_agg(w.idf::float8 order by w.place) from weight w) as idf,
    (select array_agg(w.df order by w.place) from weight w) as df,
    (select array_agg(w.leads order by w.place) from weight w) as leads;

-- name: candidates
-- The pool for one query: the best by BM25 (given), the nearest by vector, the turns around them, what the other
-- sources find, and for each of them all measures exactly. {dense} is one of the forms below, {found} the sources
-- this query asks for; {where} and {dense_where} are the caller's conditions; `matched` has a bit for each term of the
-- query. "lateral ... offset 0" makes the planner look a few rows up by key, whatever it believes of the table's size.
with weight as materialized (
    select t.term, 1::bigint << (t.place - 1)::int as bit, t.idf::float4 as idf
    from unnest(%(terms)s::text[], %(idf)s::float8[]) with ordinality as t(term, idf, place)
), dense as materialized (
    {dense}
), found as materialized (
    {found}
), best as materialized (
    select unnest((%(lexical)s::uuid[])[1:%(anchors)s]) as memory_id
    union
    (select memory_id from dense order by distance limit %(anchors)s)
), pool as materialized (
    select unnest(%(lexical)s::uuid[]) as memory_id
    union
    select memory_id from dense
    union
    select memory_id from found
    union
    select n.memory_id
    from best b
    cross join lateral (select a.conversation_id, a.position from {memory} a
        where a.tenant_id = %(tenant)s and a.memory_id = b.memory_id offset 0) a
    cross join lateral (select n.memory_id from {memory} n
        where n.tenant_id = %(tenant)s and n.conversation_id = a.conversation_id
            and n.position between a.position - %(reach)s and a.position + %(reach)s offset 0) n
    where a.conversation_id is not null
), {measured};

-- name: linked
-- Where the best hits lead: the entities they name, and the other memories that are about those (given) or name them;
-- and what was said later than the very best of them. All are measured like every candidate. Links are arrays: which hit, whether the target is about the entity, and among how
-- many others. What many memories name leads nowhere.
with weight as materialized (
    select t.term, 1::bigint << (t.place - 1)::int as bit, t.idf::float4 as idf
    from unnest(%(terms)s::text[], %(idf)s::float8[]) with ordinality as t(term, idf, place)
), named as materialized (
    select h.memory_id as hit, n.entity
    from unnest(%(hits)s::uuid[]) as h(memory_id)
    cross join lateral (select n.entity from recollect.mention n
        where n.tenant_id = %(tenant)s and n.memory_id = h.memory_id offset 0) n
    where n.entity <> all(%(entities)s::text[])
), led as materialized (
    select e.entity, g.given, t.memory_id, t.place, count(*) over (partition by e.entity, g.given) as others
    from (select distinct n.entity from named n) e
    cross join (values (true, {about_limit}), (false, {naming_limit})) as g(given, most)
    cross join lateral (
        select t.memory_id, row_number() over () as place
        from (select t.memory_id from recollect.mention t
            where t.tenant_id = %(tenant)s and t.entity = e.entity collate "C" and t.given = g.given {scopes_t}
            order by t.memory_id limit {common} + 2) t) t
), edge as materialized (
    select n.hit, l.memory_id, l.given, l.others - l.itself as others
    from named n
    cross join lateral (
        select l.memory_id, l.given, l.others, l.place, s.itself
        from led l
        cross join lateral (select count(*) as itself from led s
            where s.entity = l.entity and s.given = l.given and s.memory_id = n.hit) s
        where l.entity = n.entity and l.memory_id <> n.hit and l.others <= {common} + 1) l
    where l.others - l.itself <= {common}
        and l.place <= case when l.given then {about_limit} else {naming_limit} end + 1
), target as materialized (
    select e.memory_id from edge e group by e.memory_id
    order by bool_or(e.given) desc, min(e.others), e.memory_id limit {limit}
), later as materialized (
    {later}
), dense as materialized (
    {dense}
), found as materialized (
    select t.memory_id, 'linked' as source from target t
    union all
    select l.memory_id, 'later' as source from later l
), pool as materialized (
    select t.memory_id from target t
    union
    select l.memory_id from later l
), {measured};

-- name: said_later
-- Slot of `linked`: what was said after each of the very best hits and is most like it. {nearness} keeps the vector
-- index out where every visible vector is to be compared.
select n.memory_id, min(n.distance) as distance
from (select set_config('hnsw.ef_search', {breadth}, true) as breadth offset 0) b
cross join unnest(%(answers)s::uuid[]) as h(memory_id)
cross join lateral (select x.embedding::halfvec({dimensions}) as embedding, x.since from {embedding} x
    where x.tenant_id = %(tenant)s and x.space_id = {space} and x.memory_id = h.memory_id and x.part = 0 offset 0) x
cross join lateral (
    select e.memory_id, e.embedding::halfvec({dimensions}) <=> x.embedding as distance
    from {embedding} e
    where b.breadth is not null and e.tenant_id = %(tenant)s and e.space_id = {space} {scopes_e}
        and e.since > x.since and e.since <= %(known_by)s and e.until > %(at)s
    order by (e.embedding::halfvec({dimensions}) <=> x.embedding) {nearness} limit {later_limit}) n
group by n.memory_id;

-- name: measured
-- Slot of `candidates` and `linked`: every measure of every member of the pool.
posted as (
    -- The candidates' ids as one array: the index is walked once per term, not entered anew for every candidate.
    select x.memory_id, w.bit, w.idf, x.tf, x.dl
    from weight w
    cross join lateral (select x.memory_id, x.tf, x.dl from {posting} x
        where x.tenant_id = %(tenant)s and x.term = w.term collate "C"
            and x.memory_id = any(array(select p.memory_id from pool p)) offset 0) x
), scored as materialized (
    select x.memory_id, bit_or(x.bit) as matched,
        sum(x.idf * x.tf * 2.2::float4
            / (x.tf + 1.2::float4 * (0.25::float4 + 0.75::float4 * x.dl / %(avg_dl)s::float4))) as bm25
    from posted x group by x.memory_id
)
select m.memory_id, m.scope_id, m.layer, m.type, m.digest, m.conversation_id, m.position, m.speaker, m.importance,
    m.created_at, m.event_at, m.use_count, m.utility, m.author,
    coalesce(d.distance, e.distance) as distance, coalesce(s.bm25, 0)::float8 as bm25,
    coalesce(s.matched, 0)::bigint as matched, d.memory_id is not null as by_dense,
    f.sources, {about} as about, {links}
from pool p
cross join lateral (
    select m.memory_id, m.scope_id, m.layer, m.type, m.digest, m.conversation_id, m.position, m.speaker, m.importance,
        m.created_at, m.event_at, m.use_count, m.utility, m.author
    from {memory} m
    where m.tenant_id = %(tenant)s and m.memory_id = p.memory_id and {where} offset 0) m
left join scored s on s.memory_id = p.memory_id
left join (select memory_id, array_agg(distinct source) as sources from found group by memory_id) f
    on f.memory_id = p.memory_id
left join (select memory_id, min(distance) as distance from dense group by memory_id) d on d.memory_id = p.memory_id
left join lateral (
    select min(e.embedding::halfvec({dimensions}) <=> %(vector)s::halfvec({dimensions})) as distance
    from {embedding} e
    where d.memory_id is null and e.tenant_id = %(tenant)s and e.space_id = %(space)s and e.memory_id = p.memory_id
) e on true;

-- name: found_nothing
-- Slot of `candidates`: no source but words and vectors.
select null::uuid as memory_id, null::text as source where false;

-- name: found_by_entity
-- Slot of `candidates`: memories that name what the question names, those that name most of it first, then the
-- newest (ids are made in order of time).
select x.memory_id, 'entity' as source from (
    select n.memory_id, count(*) as named, bool_or(n.given) as given
    from unnest(%(entities)s::text[]) as k(entity)
    cross join lateral (select n.memory_id, n.given from recollect.mention n
        where n.tenant_id = %(tenant)s and n.entity = k.entity collate "C" {scopes_n}
        order by n.memory_id desc limit {scan}) n
    group by n.memory_id
    order by 2 desc, 3 desc, 1 desc
    limit {limit}) x;

-- name: found_by_time
-- Slot of `candidates`: of the newest memories of the time asked about, the nearest by vector.
select x.memory_id, 'temporal' as source
from (select m.memory_id from {memory} m
    where m.tenant_id = %(tenant)s and {scopes_m}
        and m.event_at >= %(range_start)s
        and m.event_at < %(range_end)s and {where}
    order by m.event_at desc limit {scan}) x
cross join lateral (
    select min(e.embedding::halfvec({dimensions}) <=> %(vector)s::halfvec({dimensions})) as distance
    from {embedding} e
    where e.tenant_id = %(tenant)s and e.space_id = %(space)s and e.memory_id = x.memory_id offset 0) e
order by e.distance limit {limit};

-- name: found_by_type
-- Slot of `candidates`: of the newest memories of one type, the nearest by vector.
select x.memory_id, {source} as source
from (select m.memory_id from {memory} m
    where m.tenant_id = %(tenant)s and {scopes_m} and m.type = {type} and {where}
    order by m.created_at desc limit {scan}) x
cross join lateral (
    select min(e.embedding::halfvec({dimensions}) <=> %(vector)s::halfvec({dimensions})) as distance
    from {embedding} e
    where e.tenant_id = %(tenant)s and e.space_id = %(space)s and e.memory_id = x.memory_id offset 0) e
order by e.distance limit {limit};

-- name: about
-- Slot of `measured`: whether a candidate is about one of the question's entities, or at least names one.
(select max(case when n.given then 1.0 else 0.3 end)::float8 from recollect.mention n
    where n.tenant_id = %(tenant)s and n.memory_id = p.memory_id and n.entity = any(%(entities)s::text[]));

-- name: links
-- Slot of `measured`: what leads to a candidate, and how like it is to a hit that was said before it.
(select array_agg(g.hit order by g.hit, g.given) from edge g where g.memory_id = p.memory_id) as link_hits,
(select array_agg(g.given order by g.hit, g.given) from edge g where g.memory_id = p.memory_id) as link_given,
(select array_agg(g.others order by g.hit, g.given) from edge g where g.memory_id = p.memory_id) as link_others,
(select l.distance from later l where l.memory_id = p.memory_id) as later_distance;

-- name: dense_nothing
-- Slot of `candidates` and `linked`: nothing by vector.
select null::uuid as memory_id, null::float8 as distance where false;

-- name: dense_exact
-- Slot of `candidates`: every visible vector compared; "+ 0" keeps the vector index out.
select e.memory_id, (e.embedding::halfvec({dimensions}) <=> %(vector)s::halfvec({dimensions})) + 0 as distance
from {embedding} e {dense_join}
where e.tenant_id = %(tenant)s and e.space_id = %(space)s {scopes_e}
    and e.since <= %(known_by)s and e.until > %(at)s and {dense_where}
order by 2
limit %(dense_limit)s;

-- name: dense_index
-- Slot of `candidates`: the vector index, scanned on while conditions reject what it finds. It is told first how widely
-- to look around; what it is told is asked for below, so that nothing is scanned before.
select e.memory_id, e.distance
from (select set_config('hnsw.ef_search', %(breadth)s, true) as breadth offset 0) b
cross join lateral (
    select e.memory_id, e.embedding::halfvec({dimensions}) <=> %(vector)s::halfvec({dimensions}) as distance
    from {embedding} e {dense_join}
    where b.breadth is not null and e.tenant_id = %(tenant)s and e.space_id = {space} {scopes_e}
        and e.since <= %(known_by)s and e.until > %(at)s and {dense_where}
    order by e.embedding::halfvec({dimensions}) <=> %(vector)s::halfvec({dimensions})
    limit %(dense_limit)s) e;

-- name: fetch_hits
-- What a hit shows, for the few that may be returned; its first vector, by which repeats are known; and the turn
-- before it, without which many a turn can't be understood.
select m.memory_id, m.text, m.layer, s.name as scope_name, m.type, m.created_at, m.event_at, m.metadata,
    c.name as conversation, m.speaker, m.position, m.entities, m.mentions, m.subject, e.embedding,
    b.text as before_text, b.speaker as before_speaker, m.superseded_at
from {memory} m
join recollect.scope s on s.tenant_id = m.tenant_id and s.scope_id = m.scope_id
left join recollect.conversation c on c.tenant_id = m.tenant_id and c.conversation_id = m.conversation_id
left join {embedding} e on e.tenant_id = m.tenant_id and e.space_id = %(space)s
    and e.memory_id = m.memory_id and e.part = 0
left join lateral (
    select b.text, b.speaker from {memory} b
    where b.tenant_id = %(tenant)s and b.conversation_id = m.conversation_id and b.position = m.position - 1
    limit 1) b on true
where m.tenant_id = %(tenant)s and m.memory_id = any(%(ids)s::uuid[]);
