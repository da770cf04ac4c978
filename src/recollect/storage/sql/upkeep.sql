-- name: insert_tenant
-- A new tenant.
insert into recollect.tenant (tenant_id, name) values (%(tenant)s, %(name)s) on conflict do nothing;

-- name: list_tenants
-- All tenants of the store with their retention, routing and size.
select t.tenant_id, t.name, t.created_at, t.recursion_threshold, t.recursion_enabled, t.keep_questions,
    coalesce((select jsonb_object_agg(r.layer::text, r.days) from recollect.retention r
              where r.tenant_id = t.tenant_id), '{}') as retention,
    coalesce((select sum(y.memories) from recollect.tally y where y.tenant_id = t.tenant_id), 0)::bigint as memories
from recollect.tenant t order by t.tenant_id;

-- name: expired_memories
-- Memories whose expiry or retention has passed and that the caller may erase. Being superseded ends belief,
-- too, but such a memory stays until its own time is over: it can be restored.
select m.memory_id from recollect.memory m
left join recollect.retention r on r.tenant_id = %(tenant)s and r.layer = m.layer
where m.tenant_id = %(tenant)s and m.until <= %(now)s
    and (m.expires_at <= %(now)s or m.created_at + make_interval(days => r.days) <= %(now)s)
    and (recollect.caller_is_admin() or m.scope_id = any((select recollect.caller_scopes('writable'))::uuid[]))
limit %(limit)s;

-- name: close_tenant
-- Let nobody begin to write for a tenant that is about to go, and wait for those who do: every row of theirs points to
-- the tenant or to one of its scopes.
select t.tenant_id, (select count(*) from (
    select from recollect.scope s where s.tenant_id = %(tenant)s for update
) locked) as scopes
from recollect.tenant t where t.tenant_id = %(tenant)s for update;

-- name: delete_tenant_rows
-- Erase one table's rows of a tenant.
delete from {table} where tenant_id = %(tenant)s;

-- name: partition_of
-- The partition a tenant's rows of a table live in; on a cluster, which has shards instead, the table.
select c.oid::regclass::text as name, pg_total_relation_size(c.oid) as bytes
from pg_inherits i join pg_class c on c.oid = i.inhrelid
where i.inhparent = %(parent)s::regclass
    and satisfies_hash_partition(i.inhparent, 16, substring(c.relname from '_(\d+)$')::int, %(tenant)s::text)
union all
select c.oid::regclass::text, pg_total_relation_size(c.oid) from pg_class c
where c.oid = %(parent)s::regclass and c.relkind = 'r';

-- name: store_form
-- Whether the store is on one machine or on many, and whether Citus is there.
select s.form, exists (select from pg_extension e where e.extname = 'citus') as citus from recollect.store s;

-- name: tables_of_tenant
-- Where a tenant's rows of some tables live: its partition, or the table. With the size, indexes included, and
-- whether there is any page of rows.
select c.oid::regclass::text as name, pg_total_relation_size(c.oid) as bytes,
    pg_relation_size(c.oid) > 0 or coalesce(pg_relation_size(nullif(c.reltoastrelid, 0)), 0) > 0 as has_pages
from unnest(%(tables)s::text[]) with ordinality as t (name, place)
join pg_class p on p.oid = ('recollect.' || t.name)::regclass
cross join lateral (
    select p.oid where p.relkind = 'r'
    union all
    select i.inhrelid from pg_inherits i join pg_class part on part.oid = i.inhrelid
    where i.inhparent = p.oid
        and satisfies_hash_partition(p.oid, 16, substring(part.relname from '_(\d+)$')::int, %(tenant)s::text)
) as held (oid)
join pg_class c on c.oid = held.oid
order by t.place;

-- name: may_edit_catalog
-- Whether this role may write to the system catalog.
select rolsuper as superuser from pg_roles where rolname = current_user;

-- name: delete_statistics
-- Forget what the planner knows of the values in some tables.
delete from pg_catalog.pg_statistic where starelid = any(%(tables)s::regclass[]);

-- name: vector_indexes
-- The vector indexes there are, whether they are whole (an interrupted build leaves one that is not), and of how many
-- rows by the last count.
select c.relname as indexname, i.indisvalid and i.indisready as usable, greatest(t.reltuples, 0)::bigint as rows
from pg_index i join pg_class c on c.oid = i.indexrelid join pg_class t on t.oid = i.indrelid
join pg_namespace n on n.oid = c.relnamespace
where n.nspname = 'recollect' and c.relname ^@ 'embedding_' and strpos(c.relname, '_hnsw_') > 0;

-- name: tenant_vectors
-- How many vectors a tenant has.
select coalesce(sum(y.vectors), 0)::bigint as vectors from recollect.tally y where y.tenant_id = %(tenant)s;

-- name: recount_tallies
-- Tallies that differ from the rows they count; empty when all is well.
select y.scope_id, y.memories, x.memories as counted from recollect.tally y
left join lateral (select count(*) as memories from recollect.memory m
    where m.tenant_id = %(tenant)s and m.scope_id = y.scope_id) x on true
where y.tenant_id = %(tenant)s and y.memories <> x.memories;

-- name: unlink_scopes
-- Let go of the links between a tenant's scopes, before all of them are erased.
update recollect.scope set parent_id = null where tenant_id = %(tenant)s;

-- name: store_facts
-- Versions and size of the store, and what the caller sees of it.
select current_setting('server_version') as server_version,
    (select extversion from pg_extension where extname = 'vector') as pgvector_version,
    (select max(version) from recollect.migration) as schema_version,
    (select count(*) from recollect.tenant t where t.tenant_id = %(tenant)s) as tenants,
    coalesce((select sum(y.memories) from recollect.tally y where y.tenant_id = %(tenant)s), 0)::bigint as memories,
    pg_database_size(current_database()) as bytes;

-- name: database_size
-- How large the database is on disk.
select pg_database_size(current_database()) as bytes;

-- name: all_tables
-- Every table that holds rows (partitions, not their parents).
select c.relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
where n.nspname = 'recollect' and c.relkind = 'r' order by c.relname;

-- name: mend_tallies
-- Count a tenant's scopes anew.
insert into recollect.tally (tenant_id, scope_id, memories, vectors, terms)
select %(tenant)s, s.scope_id, m.memories, e.vectors, coalesce(p.terms, 0)
from recollect.scope s
cross join lateral (select count(*) as memories from recollect.memory m
    where m.tenant_id = %(tenant)s and m.scope_id = s.scope_id) m
cross join lateral (select count(*) as vectors from recollect.embedding e
    where e.tenant_id = %(tenant)s and e.scope_id = s.scope_id
        and e.space_id = (select x.space_id from recollect.space x where x.state = 'active')) e
left join (
    select d.scope_id, sum(d.dl) as terms
    from (select distinct p.scope_id, p.memory_id, p.dl from recollect.posting p where p.tenant_id = %(tenant)s) d
    group by d.scope_id) p on p.scope_id = s.scope_id
where s.tenant_id = %(tenant)s
on conflict (tenant_id, scope_id) do update
    set memories = excluded.memories, vectors = excluded.vectors, terms = excluded.terms;
