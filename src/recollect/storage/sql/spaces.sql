-- name: list_spaces
-- All embedding spaces, the active one first.
select space_id, name, dimensions, fingerprint, state from recollect.space
order by state = 'active' desc, space_id desc;

-- name: insert_space
-- A new embedding space; losing the race to be the active one is not an error.
insert into recollect.space (space_id, name, dimensions, fingerprint, state)
values (%(id)s, %(name)s, %(dimensions)s, %(fingerprint)s, %(state)s)
on conflict do nothing;

-- name: activate_space
-- Make a filled space the one that is searched.
update recollect.space set state = case when space_id = %(space)s then 'active' else 'retired' end
where space_id = %(space)s or state = 'active';

-- name: retire_space
-- Take the active space out before another becomes active (the unique index allows one).
update recollect.space set state = 'retired' where state = 'active' and space_id <> %(space)s;

-- name: delete_space
-- Forget a space that has no vectors left.
delete from recollect.space where space_id = %(space)s and state <> 'active';

-- name: tenants_by_name
-- All tenants in a stable order, for store-wide upkeep.
select tenant_id from recollect.tenant where tenant_id > %(tenant)s order by tenant_id;

-- name: missing_embeddings
-- Memories that have no vector in a space yet, in the order of their ids.
select m.memory_id, m.scope_id, m.text, m.speaker, m.since, m.until from recollect.memory m
where m.tenant_id = %(tenant)s and m.memory_id > %(after)s
    and not exists (select from recollect.embedding e
        where e.tenant_id = %(tenant)s and e.space_id = %(space)s and e.memory_id = m.memory_id)
order by m.memory_id
limit %(limit)s;

-- name: count_missing_embeddings
-- How many memories of a tenant have no vector in a space yet.
select count(*) as missing from recollect.memory m
where m.tenant_id = %(tenant)s and not exists (select from recollect.embedding e
    where e.tenant_id = %(tenant)s and e.space_id = %(space)s and e.memory_id = m.memory_id);

-- name: insert_embeddings
-- Vectors of memories that still exist, with their present period of belief.
insert into recollect.embedding (tenant_id, space_id, memory_id, part, scope_id, since, until, embedding)
select %(tenant)s, %(space)s, m.memory_id, x.part, m.scope_id, m.since, m.until, x.embedding
from unnest(%(ids)s::uuid[], %(parts)s::smallint[], %(embeddings)s::halfvec[]) as x(memory_id, part, embedding)
join recollect.memory m on m.tenant_id = %(tenant)s and m.memory_id = x.memory_id
for key share of m
on conflict do nothing;

-- name: delete_space_embeddings
-- Drop a tenant's vectors of a retired space.
delete from recollect.embedding where tenant_id = %(tenant)s and space_id = %(space)s;

-- name: recount_vectors
-- Count a tenant's vectors per scope anew, for the space that is searched now.
update recollect.tally y set vectors = (select count(*) from recollect.embedding e
    where e.tenant_id = %(tenant)s and e.space_id = %(space)s and e.scope_id = y.scope_id)
where y.tenant_id = %(tenant)s;
