-- name: insert_mentions
-- Link memories with the entities they name; what the author says counts more than what the text was read for.
insert into recollect.mention (tenant_id, entity, memory_id, scope_id, given)
select %(tenant)s, x.entity, x.memory_id, x.scope_id, x.given
from unnest(%(entities)s::text[], %(ids)s::uuid[], %(scopes)s::uuid[], %(given)s::boolean[])
    as x(entity, memory_id, scope_id, given)
on conflict do nothing;

-- name: confirm_mentions
-- What a text was found to name is what it is about, now that its author says so.
update recollect.mention m set given = true
from unnest(%(entities)s::text[], %(ids)s::uuid[]) as x(entity, memory_id)
where m.tenant_id = %(tenant)s and m.entity = x.entity and m.memory_id = x.memory_id and not m.given;

-- name: delete_mentions
-- Unlink memories from their entities.
delete from recollect.mention where tenant_id = %(tenant)s and memory_id = any(%(ids)s::uuid[])
returning entity, scope_id;

-- name: share_mentions
-- A memory's former version names the same entities.
insert into recollect.mention (tenant_id, entity, memory_id, scope_id, given)
select x.tenant_id, x.entity, %(archived)s, x.scope_id, x.given from recollect.mention x
where x.tenant_id = %(tenant)s and x.memory_id = %(id)s;

-- name: insert_entities
-- Entities as their scopes see them first, in the order of their keys so that concurrent writers can't deadlock.
insert into recollect.entity (tenant_id, entity, scope_id, name, kind, source, canonical)
select %(tenant)s, x.entity, x.scope_id, x.name, x.kind, x.source, x.canonical
from unnest(%(entities)s::text[], %(scopes)s::uuid[], %(names)s::text[], %(kinds)s::text[], %(sources)s::text[],
    %(canonicals)s::text[]) as x(entity, scope_id, name, kind, source, canonical)
order by x.scope_id, x.entity
on conflict do nothing
returning entity, scope_id;

-- name: insert_entity_keys
-- How entities are looked up, ordered as they are.
insert into recollect.entity_key (tenant_id, key, kind, entity, scope_id, confidence, source)
select %(tenant)s, x.key, x.kind, x.entity, x.scope_id, x.confidence, x.source
from unnest(%(keys)s::text[], %(kinds)s::text[], %(entities)s::text[], %(scopes)s::uuid[], %(confidences)s::real[],
    %(sources)s::text[]) as x(key, kind, entity, scope_id, confidence, source)
order by x.scope_id, x.entity, x.kind, x.key
on conflict do nothing;

-- name: named_among
-- Which of some entities are named by some memories.
select distinct n.entity from recollect.mention n
where n.tenant_id = %(tenant)s and n.memory_id = any(%(ids)s::uuid[]) and n.entity = any(%(entities)s::text[]);

-- name: learn_entity_key
-- An alias that proved right; a declared one stays as it is, a learned one grows surer.
insert into recollect.entity_key (tenant_id, key, kind, entity, scope_id, confidence, source)
values (%(tenant)s, %(key)s, 'alias', %(entity)s, %(scope)s, %(confidence)s, %(source)s)
on conflict (tenant_id, key, kind, entity, scope_id) do update
    set confidence = greatest(recollect.entity_key.confidence, excluded.confidence),
        source = case when excluded.source = 'declared' then 'declared' else recollect.entity_key.source end;

-- name: delete_unmentioned
-- Erase entities that nothing in their scope names any more; what was declared or comes from elsewhere stays.
-- Somebody who speaks there is named by that.
delete from recollect.entity e
using (select distinct y.entity, y.scope_id
    from unnest(%(entities)s::text[], %(scopes)s::uuid[]) as y(entity, scope_id)) x
where e.tenant_id = %(tenant)s and e.entity = x.entity and e.scope_id = x.scope_id
    and e.source in ('found', 'given')
    and not exists (select from recollect.mention m
        where m.tenant_id = %(tenant)s and m.entity = e.entity and m.scope_id = e.scope_id)
    and not (e.kind = 'speaker' and exists (select from recollect.memory m
        where m.tenant_id = %(tenant)s and m.scope_id = e.scope_id and m.speaker = e.name))
returning e.entity, e.scope_id;

-- name: delete_entity_keys
-- Erase the ways to entities that are gone from their scopes.
delete from recollect.entity_key k
using unnest(%(entities)s::text[], %(scopes)s::uuid[]) as x(entity, scope_id)
where k.tenant_id = %(tenant)s and k.entity = x.entity and k.scope_id = x.scope_id;

-- name: delete_lost_keys
-- Erase aliases, in whosever scope, of entities that no scope of the tenant knows any more. Run by the owner.
delete from recollect.entity_key k
where k.tenant_id = %(tenant)s and k.source = 'learned'
    and not exists (select from recollect.entity e where e.tenant_id = k.tenant_id and e.entity = k.entity);

-- name: delete_entities_of
-- Erase all entities of scopes.
delete from recollect.entity where tenant_id = %(tenant)s and scope_id = any(%(scopes)s::uuid[]);

-- name: delete_entity_keys_of
-- Erase all ways to entities of scopes.
delete from recollect.entity_key where tenant_id = %(tenant)s and scope_id = any(%(scopes)s::uuid[]);

-- name: find_entities
-- Everything a question's mentions may mean: entities by name, by alias, by a word or a misspelt form, and those
-- that the session's last searches were about. Bounded per key, so that "John" costs no more than a rare name.
with asked as (
    select a.key, a.kind from unnest(%(keys)s::text[], %(kinds)s::text[]) as a(key, kind)),
met as (
    select n.name as entity, n.name as key, 'exact' as via, 1::real as confidence, 'name' as origin, 0 as place
    from unnest(%(names)s::text[]) as n(name)
    where exists (select from recollect.entity e where e.tenant_id = %(tenant)s and e.entity = n.name)
        or exists (select from recollect.mention m where m.tenant_id = %(tenant)s and m.entity = n.name)
    union all
    select k.entity, a.key, a.kind, k.confidence, k.source, 0 from asked a
    cross join lateral (
        select distinct on (x.entity) x.entity, x.confidence, x.source from recollect.entity_key x
        where x.tenant_id = %(tenant)s and x.key = a.key and x.kind = a.kind
        order by x.entity, x.confidence desc
        limit %(per_key)s) k
    union all
    select k.entity, '', 'prefix', 1, 'name', 0 from unnest(%(prefixes)s::text[]) as p(prefix)
    cross join lateral (
        select distinct x.entity from recollect.entity x
        where x.tenant_id = %(tenant)s and x.entity >= p.prefix and x.entity < p.prefix || chr(1114111)
        order by x.entity
        limit %(per_key)s) k
    union all
    select c.entity, '', 'recent', 1, 'name', r.place::int from (
        select v.entities, row_number() over (order by v.at desc, v.query_id desc) as place
        from recollect.retrieval_event v
        where v.tenant_id = %(tenant)s and v.user_id = %(user)s and v.session = %(session)s
            and v.at >= %(since)s and cardinality(v.entities) > 0
        order by v.at desc, v.query_id desc limit %(recent)s) r
    cross join lateral unnest(r.entities) as c(entity))
select t.entity, t.key, t.via, t.confidence, t.origin, t.place, e.name, e.kind, e.source, e.canonical
from met t
left join lateral (
    select s.name, s.kind, s.source, s.canonical from (
        select z.name, z.kind, z.source, z.canonical from recollect.entity z
        where z.tenant_id = %(tenant)s and z.entity = t.entity limit 50) s
    order by s.source not in ('declared', 'domain'), s.source, s.name, s.kind limit 1) e on true;

-- name: list_entities
-- Entities the caller sees, by name, with how many visible memories name each.
select e.entity, min(e.name) as name, min(e.kind) as kind,
    (array_agg(e.source order by e.source not in ('declared', 'domain'), e.source))[1] as source,
    max(e.canonical) as canonical,
    (select count(*) from recollect.mention m where m.tenant_id = %(tenant)s and m.entity = e.entity) as memories,
    (select array_agg(distinct k.key order by k.key) from recollect.entity_key k
     where k.tenant_id = %(tenant)s and k.entity = e.entity and k.kind = 'alias') as aliases
from recollect.entity e
where e.tenant_id = %(tenant)s and e.entity >= %(first)s and (%(last)s::text is null or e.entity < %(last)s::text)
group by e.entity
order by e.entity
limit %(limit)s;

-- name: list_entities_by_key
-- Some entities the caller sees, with how many visible memories name each.
select e.entity, min(e.name) as name, min(e.kind) as kind,
    (array_agg(e.source order by e.source not in ('declared', 'domain'), e.source))[1] as source,
    max(e.canonical) as canonical,
    (select count(*) from recollect.mention m where m.tenant_id = %(tenant)s and m.entity = e.entity) as memories,
    (select array_agg(distinct k.key order by k.key) from recollect.entity_key k
     where k.tenant_id = %(tenant)s and k.entity = e.entity and k.kind = 'alias') as aliases
from recollect.entity e
where e.tenant_id = %(tenant)s and e.entity = any(%(keys)s::text[])
group by e.entity
order by e.entity;

-- name: entities_around
-- Entities that are named together with one, or without one all that are named; the most named first, and itself before.
select m.entity, count(*) as memories from recollect.mention m
where m.tenant_id = %(tenant)s and (%(centre)s::text is null or m.memory_id in (
    select c.memory_id from recollect.mention c where c.tenant_id = %(tenant)s and c.entity = %(centre)s::text))
    and exists (select from recollect.entity e where e.tenant_id = %(tenant)s and e.entity = m.entity)
group by m.entity
order by m.entity is not distinct from %(centre)s::text desc, count(*) desc, m.entity
limit %(limit)s;

-- name: entity_links
-- How many memories name two of some entities together.
select a.entity as source, b.entity as target, count(*) as memories
from recollect.mention a
join recollect.mention b on b.tenant_id = a.tenant_id and b.memory_id = a.memory_id and b.entity > a.entity
where a.tenant_id = %(tenant)s and a.entity = any(%(keys)s::text[]) and b.entity = any(%(keys)s::text[])
group by a.entity, b.entity
order by count(*) desc, a.entity, b.entity;

-- name: declare_entity
-- An entity somebody declares, for the whole tenant or a scope; a found one becomes declared.
insert into recollect.entity (tenant_id, entity, scope_id, name, kind, source, canonical)
values (%(tenant)s, %(entity)s, %(scope)s, %(name)s, %(kind)s, 'declared', %(canonical)s)
on conflict (tenant_id, entity, scope_id) do update
    set name = excluded.name, kind = excluded.kind, source = 'declared', canonical = excluded.canonical;

-- name: declared_names
-- What the tenant has declared, with the aliases: names that count in lower case, too.
select e.entity as key from recollect.entity e
where e.tenant_id = %(tenant)s and e.scope_id = '00000000-0000-0000-0000-000000000000'
union
select k.key from recollect.entity d
join recollect.entity_key k on k.tenant_id = %(tenant)s and k.entity = d.entity and k.scope_id = d.scope_id and k.kind = 'alias'
where d.tenant_id = %(tenant)s and d.scope_id = '00000000-0000-0000-0000-000000000000'
limit %(limit)s;

-- name: forget_entities
-- Forget declared and learned knowledge of an entity, as far as the caller may; what memories name stays named.
delete from recollect.entity e
where e.tenant_id = %(tenant)s and e.entity = %(entity)s and e.source in ('declared', 'domain')
returning e.scope_id;

-- name: forget_entity_keys
-- Forget the aliases somebody gave or the store learned, as far as the caller may.
delete from recollect.entity_key k
where k.tenant_id = %(tenant)s and k.entity = %(entity)s
    and (k.source <> 'name' or k.scope_id = any(%(scopes)s::uuid[]))
returning k.key;

-- name: mentioned_in
-- The scopes among the given ones in which memories name an entity.
select distinct m.scope_id from recollect.mention m
where m.tenant_id = %(tenant)s and m.entity = %(entity)s and m.scope_id = any(%(scopes)s::uuid[]);

-- name: count_declared
-- How many names were declared for the whole tenant: they are its own, and no user's.
select count(*) as names from recollect.entity e where e.tenant_id = %(tenant)s and e.source = 'declared';
