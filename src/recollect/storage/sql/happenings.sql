-- name: tell
-- Something happened: kept, and told to every process that listens once this is committed.
with kept as (
    insert into recollect.event (tenant_id, event_id, type, by_user, scope_id, detail)
    values (%(tenant)s, %(id)s, %(type)s, %(user)s, %(scope)s, %(detail)s))
select pg_notify('recollect_event', %(tenant)s);

-- name: tell_all
-- Several things happened, of no scope: kept in their order.
insert into recollect.event (tenant_id, event_id, type, by_user, detail)
select %(tenant)s, t.id, t.type, %(user)s, t.detail
from unnest(%(ids)s::uuid[], %(types)s::text[], %(details)s::jsonb[]) as t (id, type, detail);

-- name: wake_watchers
-- Tell every process that listens that something happened, once this is committed.
select pg_notify('recollect_event', %(tenant)s);

-- name: happened_since
-- What happened since a moment, as far as the caller may know, the oldest first.
select e.event_id, e.at, e.type, e.by_user, e.detail, s.layer, s.name as scope_name
from recollect.event e
left join recollect.scope s on s.tenant_id = e.tenant_id and s.scope_id = e.scope_id
where e.tenant_id = %(tenant)s and e.at > %(since)s
    and (%(types)s::text[] is null or e.type = any(%(types)s::text[]))
order by e.at, e.event_id
limit %(limit)s;

-- name: moment_of_happening
-- When an event was.
select e.at from recollect.event e where e.tenant_id = %(tenant)s and e.event_id = %(id)s;

-- name: expire_happenings
-- Forget what happened before a moment.
delete from recollect.event e where e.tenant_id = %(tenant)s and e.at < %(before)s;

-- name: forget_user_happenings
-- What a user did who is being forgotten.
delete from recollect.event e where e.tenant_id = %(tenant)s and e.by_user = %(user)s;
