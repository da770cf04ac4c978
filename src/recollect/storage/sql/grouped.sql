-- name: scope_tree
-- The visible scopes of some layers and how much each holds, from which those that a question means are chosen.
select s.scope_id, s.layer, s.name, s.parent_id, coalesce(y.memories, 0)::bigint as memories
from recollect.scope s
left join recollect.tally y on y.tenant_id = s.tenant_id and y.scope_id = s.scope_id
where s.tenant_id = %(tenant)s and s.layer = any(%(layers)s::smallint[])
order by s.layer desc, s.name, s.scope_id
limit %(limit)s;

-- name: earliest
-- When the oldest of the visible memories happened; the index gives it without reading them.
select m.event_at from recollect.memory m where m.tenant_id = %(tenant)s order by m.event_at limit 1;

-- name: grouped
-- The pool of a question that is asked of many groups at once: the best of each group by vector and by words, measured
-- like every candidate. {grouping} says what the groups are; {dense} is one of the forms below.
with weight as materialized (
    select t.term, 1::bigint << (t.place - 1)::int as bit, t.idf::float4 as idf, t.leads
    from unnest(%(terms)s::text[], %(idf)s::float8[], %(leads)s::boolean[])
        with ordinality as t(term, idf, leads, place)
), grouping as materialized (
    {grouping}
), dense as materialized (
    {dense}
), worded as materialized (
    {worded}
), found as materialized (
    select x.memory_id, 'lexical' as source
    from (select w.memory_id, row_number() over (partition by w.place order by w.bm25 desc, w.memory_id) as nth
        from worded w) x
    where x.nth <= %(per_group)s
), pool as materialized (
    select memory_id from dense
    union
    select memory_id from found
), {measured};

-- name: groups_of_scopes
-- Slot of `grouped`: a group is some scopes.
select g.scope_id, g.place from unnest(%(grouped_scopes)s::uuid[], %(grouped_places)s::int[]) as g(scope_id, place);

-- name: groups_of_periods
-- Slot of `grouped`: a group is a stretch of time.
select g.range_start, g.range_end, g.place::int as place
from unnest(%(range_starts)s::timestamptz[], %(range_ends)s::timestamptz[])
    with ordinality as g(range_start, range_end, place);

-- name: worded_by_scope
-- Slot of `grouped`: BM25 of everything that the leading terms find in the groups.
select p.memory_id, g.place, sum(w.idf * p.tf * 2.2::float4
    / (p.tf + 1.2::float4 * (0.25::float4 + 0.75::float4 * p.dl / %(avg_dl)s::float4))) as bm25
from weight w
join {posting} p on p.tenant_id = %(tenant)s and p.term = w.term collate "C"
join grouping g on g.scope_id = p.scope_id
where w.leads
group by p.memory_id, g.place;

-- name: worded_by_period
-- Slot of `grouped`: the best by BM25 of all times, and which of the periods each belongs to.
select b.memory_id, g.place, b.bm25
from (
    select p.memory_id, sum(w.idf * p.tf * 2.2::float4
        / (p.tf + 1.2::float4 * (0.25::float4 + 0.75::float4 * p.dl / %(avg_dl)s::float4))) as bm25
    from weight w join {posting} p on p.tenant_id = %(tenant)s and p.term = w.term collate "C" {scopes_p}
    where w.leads
    group by p.memory_id
    order by 2 desc, 1
    limit {nearest}) b
cross join lateral (select m.event_at from {memory} m
    where m.tenant_id = %(tenant)s and m.memory_id = b.memory_id and {where} offset 0) m
join grouping g on m.event_at >= g.range_start and m.event_at < g.range_end;

-- name: exact_by_scope
-- Slot of `grouped`: every vector of every group compared.
select d.memory_id, d.distance
from (select distinct g.place from grouping g) p
cross join lateral (
    select e.memory_id, (e.embedding::halfvec({dimensions}) <=> %(vector)s::halfvec({dimensions})) + 0 as distance
    from grouping g
    join {embedding} e on e.tenant_id = %(tenant)s and e.scope_id = g.scope_id and e.space_id = %(space)s {dense_join}
    where g.place = p.place and e.since <= %(known_by)s and e.until > %(at)s and {dense_where}
    order by 2
    limit %(per_group)s) d;

-- name: exact_by_period
-- Slot of `grouped`: every visible vector compared, and the best of each period taken.
select x.memory_id, x.distance
from (
    select d.memory_id, d.distance, row_number() over (partition by g.place order by d.distance) as nth
    from (
        select e.memory_id, (e.embedding::halfvec({dimensions}) <=> %(vector)s::halfvec({dimensions})) + 0 as distance,
            m.event_at
        from {embedding} e
        join {memory} m on m.tenant_id = e.tenant_id and m.memory_id = e.memory_id
        where e.tenant_id = %(tenant)s and e.space_id = %(space)s {scopes_e}
            and e.since <= %(known_by)s and e.until > %(at)s and {dense_where}) d
    join grouping g on d.event_at >= g.range_start and d.event_at < g.range_end) x
where x.nth <= %(per_group)s;

-- name: index_by_scope
-- Slot of `grouped`: the nearest of all by the vector index, and the best of each group among them. A group that is
-- not among a thousand of a hundred thousand has nothing to say on the matter.
select x.memory_id, x.distance
from (
    select d.memory_id, d.distance, row_number() over (partition by g.place order by d.distance) as nth
    from (
        select e.memory_id, e.scope_id, e.embedding::halfvec({dimensions}) <=> %(vector)s::halfvec({dimensions}) as distance
        from {embedding} e {dense_join}
        where e.tenant_id = %(tenant)s and e.space_id = {space} and e.scope_id = any(%(grouped_scopes)s::uuid[])
            and e.since <= %(known_by)s and e.until > %(at)s and {dense_where}
        order by e.embedding::halfvec({dimensions}) <=> %(vector)s::halfvec({dimensions})
        limit {nearest}) d
    join grouping g on g.scope_id = d.scope_id) x
where x.nth <= %(per_group)s;

-- name: index_by_period
-- Slot of `grouped`: the nearest of all times by the vector index, and the best of each period among them.
select x.memory_id, x.distance
from (
    select d.memory_id, d.distance, row_number() over (partition by g.place order by d.distance) as nth
    from (
        select e.memory_id, e.embedding::halfvec({dimensions}) <=> %(vector)s::halfvec({dimensions}) as distance
        from {embedding} e {dense_join}
        where e.tenant_id = %(tenant)s and e.space_id = {space} {scopes_e}
            and e.since <= %(known_by)s and e.until > %(at)s and {dense_where}
        order by e.embedding::halfvec({dimensions}) <=> %(vector)s::halfvec({dimensions})
        limit {nearest}) d
    cross join lateral (select m.event_at from {memory} m
        where m.tenant_id = %(tenant)s and m.memory_id = d.memory_id offset 0) m
    join grouping g on m.event_at >= g.range_start and m.event_at < g.range_end) x
where x.nth <= %(per_group)s;
