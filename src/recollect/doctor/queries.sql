-- name: durability
-- The settings that decide whether a stored memory survives a power cut.
select name, setting from pg_settings where name in ('fsync', 'full_page_writes', 'synchronous_commit') order by name;

-- name: app_role
-- What the role of this connection may do beyond reading and writing rows.
select current_user::text as name, r.rolsuper, r.rolbypassrls, r.rolcreaterole, r.rolcreatedb,
    exists (select from pg_class c join pg_namespace n on n.oid = c.relnamespace
        where n.nspname = 'recollect' and c.relowner = r.oid) as owns
from pg_roles r where r.rolname = current_user;

-- name: orphans
-- Rows of a tenant whose memory is gone, per table.
select 'embedding' as name, count(*) as rows from recollect.embedding x where x.tenant_id = %(tenant)s
    and not exists (select from recollect.memory m where m.tenant_id = x.tenant_id and m.memory_id = x.memory_id)
union all
select 'posting', count(*) from recollect.posting x where x.tenant_id = %(tenant)s
    and not exists (select from recollect.memory m where m.tenant_id = x.tenant_id and m.memory_id = x.memory_id)
union all
select 'mention', count(*) from recollect.mention x where x.tenant_id = %(tenant)s
    and not exists (select from recollect.memory m where m.tenant_id = x.tenant_id and m.memory_id = x.memory_id)
union all
select 'history', count(*) from recollect.history x where x.tenant_id = %(tenant)s
    and not exists (select from recollect.memory m where m.tenant_id = x.tenant_id and m.memory_id = x.memory_id);

-- name: missing_tallies
-- Scopes of a tenant that hold memories but are not counted at all.
select m.scope_id, count(*) as memories from recollect.memory m
where m.tenant_id = %(tenant)s and not exists (
    select from recollect.tally y where y.tenant_id = m.tenant_id and y.scope_id = m.scope_id)
group by m.scope_id;

-- name: indexes
-- Every B-tree of the store with a query that reads it in its order, and one that reads the same rows of its table.
select c.relname::text as name,
    format('select ctid from only %s%s order by %s', i.indrelid::regclass, w.text, k.text) as rows,
    format('select ctid from only %s%s', i.indrelid::regclass, w.text) as table_rows
from pg_index i
join pg_class c on c.oid = i.indexrelid and c.relkind = 'i' and c.relnamespace = 'recollect'::regnamespace
join pg_am a on a.oid = c.relam and a.amname = 'btree'
cross join lateral (select coalesce(' where ' || pg_get_expr(i.indpred, i.indrelid), '') as text) w
cross join lateral (
    select string_agg(pg_get_indexdef(i.indexrelid, n::integer, true)
        || case when i.indoption[n - 1] & 1 = 1 then ' desc' else ' asc' end
        || case when i.indoption[n - 1] & 2 = 2 then ' nulls first' else ' nulls last' end, ', ' order by n) as text
    from generate_series(1, i.indnkeyatts) n
) k
where i.indisvalid
order by 1;
