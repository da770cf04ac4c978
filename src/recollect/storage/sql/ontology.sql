-- name: find_ontology
-- The tenant's stored ontology.
select o.document, o.updated_at, o.by
from recollect.ontology o
where o.tenant_id = %(tenant)s;

-- name: store_ontology
-- Declare the tenant's ontology anew; there is one, the old one is replaced.
insert into recollect.ontology (tenant_id, document, updated_at, by)
values (%(tenant)s, %(document)s, now(), %(by)s)
on conflict (tenant_id) do update
set document = excluded.document, updated_at = excluded.updated_at, by = excluded.by;

-- name: clear_ontology
-- Withdraw the tenant's stored ontology.
delete from recollect.ontology where tenant_id = %(tenant)s;
