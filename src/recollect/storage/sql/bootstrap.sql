-- name: bootstrap_scopes
-- Entities that several scopes of one layer speak of: for each scope the memories that do. Dates and numbers are no
-- subject of a question, here and below.
with spoken as (
    select n.entity, m.layer, n.scope_id, array_agg(m.memory_id order by m.memory_id) as ids
    from recollect.mention n
    join recollect.memory m on m.tenant_id = %(tenant)s and m.memory_id = n.memory_id
    where n.tenant_id = %(tenant)s and m.superseded_at is null and m.until > %(now)s and m.type <> 'summary'
        and n.entity !~ '[0-9]'
        and m.layer between 4 and 6
    group by n.entity, m.layer, n.scope_id),
wide as (
    select p.entity, p.layer from spoken p group by p.entity, p.layer having count(*) >= 3
    order by hashtextextended(p.entity, p.layer), p.entity limit %(limit)s)
select w.entity, w.layer, s.name as label, p.ids,
    (select min(e.name) from recollect.entity e where e.tenant_id = %(tenant)s and e.entity = w.entity) as name
from wide w
join spoken p on p.entity = w.entity and p.layer = w.layer
join recollect.scope s on s.tenant_id = %(tenant)s and s.scope_id = p.scope_id
order by w.entity, w.layer, s.name;

-- name: bootstrap_entities
-- Entities that some memories, but not most, speak of.
select n.entity, array_agg(m.memory_id order by m.memory_id) as ids,
    (select min(e.name) from recollect.entity e where e.tenant_id = %(tenant)s and e.entity = n.entity) as name
from recollect.mention n
join recollect.memory m on m.tenant_id = %(tenant)s and m.memory_id = n.memory_id
where n.tenant_id = %(tenant)s and m.superseded_at is null and m.until > %(now)s and m.type <> 'summary'
        and n.entity !~ '[0-9]'
group by n.entity having count(*) between 2 and 40
order by hashtextextended(n.entity, 0), n.entity limit %(limit)s;

-- name: bootstrap_periods
-- Entities with a history longer than a list of ten: for each quarter of a year the memories that speak of them.
with spoken as (
    select n.entity, date_trunc('quarter', m.event_at, 'UTC') as quarter,
        array_agg(m.memory_id order by m.memory_id) as ids
    from recollect.mention n
    join recollect.memory m on m.tenant_id = %(tenant)s and m.memory_id = n.memory_id
    where n.tenant_id = %(tenant)s and m.superseded_at is null and m.until > %(now)s and m.type <> 'summary'
        and n.entity !~ '[0-9]'
        and m.event_at < %(now)s
    group by 1, 2),
long as (
    select p.entity from spoken p group by p.entity
    having count(*) between 3 and 12 and sum(cardinality(p.ids)) > 10
    order by hashtextextended(p.entity, 1), p.entity limit %(limit)s)
select l.entity, p.quarter, p.ids,
    (select min(e.name) from recollect.entity e where e.tenant_id = %(tenant)s and e.entity = l.entity) as name
from long l join spoken p on p.entity = l.entity
order by l.entity, p.quarter;

-- name: bootstrap_bridges
-- Entities that lead to others: a memory names both, and other memories name the second without the first. Both are
-- rare, so that the question has one answer.
with spoken as (
    select n.entity, m.memory_id from recollect.mention n
    join recollect.memory m on m.tenant_id = %(tenant)s and m.memory_id = n.memory_id
    where n.tenant_id = %(tenant)s and m.superseded_at is null and m.until > %(now)s and m.type <> 'summary'
        and n.entity !~ '[0-9]'),
rare as (
    select p.entity from spoken p group by p.entity having count(*) between 2 and 6),
few as (
    select p.entity from spoken p group by p.entity having count(*) <= 6),
pair as (
    select a.entity, x.entity as bridge, array_agg(a.memory_id order by a.memory_id) as first
    from spoken a join spoken x on x.memory_id = a.memory_id and x.entity <> a.entity
    join rare r on r.entity = x.entity
    join few q on q.entity = a.entity
    group by a.entity, x.entity having count(*) <= 3),
far as (
    select p.entity, p.bridge, p.first, array_agg(b.memory_id order by b.memory_id) as second
    from pair p join spoken b on b.entity = p.bridge
    where not exists (select from spoken c where c.memory_id = b.memory_id and c.entity = p.entity)
    group by p.entity, p.bridge, p.first)
select f.entity, f.bridge, f.first, f.second,
    (select min(e.name) from recollect.entity e where e.tenant_id = %(tenant)s and e.entity = f.entity) as name,
    (select min(e.kind) from recollect.entity e where e.tenant_id = %(tenant)s and e.entity = f.bridge) as kind
from far f order by hashtextextended(f.entity || f.bridge, 2), f.entity, f.bridge limit %(limit)s;
