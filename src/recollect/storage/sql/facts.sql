-- name: lock_facts
-- Let one transaction at a time decide about a subject of a scope; in one order, so that two can't block each other.
select pg_advisory_xact_lock(x.key)
from (select distinct hashtextextended('recollect.fact:' || %(tenant)s || ':' || k, 0) as key
      from unnest(%(keys)s::text[]) k order by 1) x;

-- name: known_facts
-- The facts believed of a subject in a scope, however it is spelled.
select m.memory_id, m.scope_id, m.subject, m.predicate, m.object, m.created_at, m.valid_from, m.valid_to, m.metadata
from recollect.memory m
where m.tenant_id = %(tenant)s and m.scope_id = %(scope)s and m.subject = any(%(subjects)s::text[])
    and length(m.subject) <= 200 and m.superseded_at is null and m.until > %(now)s
    and m.type = 'semantic' and m.predicate is not null and m.object is not null
order by m.created_at, m.memory_id;

-- name: near_facts
-- The facts believed in a scope that come nearest in meaning to some memories, a few of each.
select n.* from unnest(%(ids)s::uuid[]) as t(memory_id)
cross join lateral (select x.space_id, x.embedding from recollect.embedding x
    where x.tenant_id = %(tenant)s and x.memory_id = t.memory_id and x.part = 0 offset 0) x
cross join lateral (
    select m.memory_id, m.scope_id, m.subject, m.predicate, m.object, m.created_at, m.valid_from, m.valid_to, m.metadata
    from recollect.memory m
    join recollect.embedding e on e.tenant_id = m.tenant_id and e.memory_id = m.memory_id and e.part = 0
    where m.tenant_id = %(tenant)s and e.tenant_id = %(tenant)s and m.scope_id = %(scope)s and e.space_id = x.space_id
        and m.superseded_at is null and m.until > %(now)s
        and m.type = 'semantic' and m.predicate is not null and m.object is not null
    order by (e.embedding <=> x.embedding) + 0, m.memory_id limit %(each)s) n;

-- name: restate_fact
-- A fact was said again in other words: it was used once more, and has one more source if the words are a memory.
update recollect.memory m set use_count = m.use_count + 1, updated_at = %(now)s,
    metadata = case when %(turn)s::jsonb is null then m.metadata else jsonb_set(m.metadata, array['derived_from'],
        coalesce(m.metadata -> 'derived_from', '[]'::jsonb) || %(turn)s::jsonb) end
where m.tenant_id = %(tenant)s and m.memory_id = %(id)s
returning m.use_count - 1 as use_count;

-- name: insert_conflict
-- Two memories contradict each other; each pair is noted once.
insert into recollect.conflict (tenant_id, memory_id, other_id, scope_id, reason, at)
select %(tenant)s, %(id)s, %(other)s, %(scope)s, %(reason)s, %(now)s
where not exists (select from recollect.conflict c
    where c.tenant_id = %(tenant)s and c.memory_id = %(other)s and c.other_id = %(id)s)
on conflict do nothing;

-- name: list_conflicts
-- Contradictions between memories that are both still believed, the newest first.
select c.memory_id, c.other_id, c.reason, c.at
from recollect.conflict c
join recollect.memory m on m.tenant_id = c.tenant_id and m.memory_id = c.memory_id
    and m.superseded_at is null and m.until > %(now)s
join recollect.memory o on o.tenant_id = c.tenant_id and o.memory_id = c.other_id
    and o.superseded_at is null and o.until > %(now)s
where c.tenant_id = %(tenant)s
order by c.at desc, c.memory_id, c.other_id
limit %(limit)s;

-- name: delete_conflicts
-- Erase the contradictions that memories had a part in.
delete from recollect.conflict
where tenant_id = %(tenant)s and (memory_id = any(%(ids)s::uuid[]) or other_id = any(%(ids)s::uuid[]));

-- name: derived_from
-- What was derived from memories, with all its sources.
select m.memory_id, m.metadata -> 'derived_from' as sources
from recollect.memory m
where m.tenant_id = %(tenant)s and m.source = any(%(sources)s::text[]) and length(m.source) <= 60;

-- name: change_source
-- A derived memory that has lost a source goes on with those that are left.
update recollect.memory set source = %(source)s, metadata = jsonb_set(metadata, array['derived_from'], %(sources)s::jsonb)
where tenant_id = %(tenant)s and memory_id = %(id)s;

-- name: scopes_of_memories
-- Which scopes memories are in.
select m.memory_id, m.scope_id from recollect.memory m
where m.tenant_id = %(tenant)s and m.memory_id = any(%(ids)s::uuid[]);
