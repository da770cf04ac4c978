-- name: insert_key
-- A key that was just made; its secret is only here, and only as a hash.
insert into recollect.api_key (tenant_id, key_id, name, secret, context, created_by, created_at, expires_at)
values (%(tenant)s, %(key)s, %(name)s, %(secret)s, %(context)s, %(created_by)s, %(now)s, %(expires_at)s);

-- name: list_keys
-- All keys of the tenant, the newest first, revoked and expired ones too.
select k.key_id, k.name, k.context, k.created_by, k.created_at, k.expires_at, k.revoked_at, k.used_at
from recollect.api_key k
where k.tenant_id = %(tenant)s
order by k.created_at desc, k.key_id desc;

-- name: get_key
-- One key, also a revoked one.
select k.key_id, k.name, k.context, k.created_by, k.created_at, k.expires_at, k.revoked_at, k.used_at
from recollect.api_key k
where k.tenant_id = %(tenant)s and k.key_id = %(key)s;

-- name: revoke_key
-- The key opens nothing any more, from now or from a moment to come; one that is revoked stays as it was.
update recollect.api_key k
set revoked_at = case when %(at)s::timestamptz <= %(now)s::timestamptz then %(at)s::timestamptz end,
    expires_at = case when %(at)s::timestamptz > %(now)s::timestamptz
        then least(%(at)s::timestamptz, k.expires_at) else k.expires_at end
where k.tenant_id = %(tenant)s and k.key_id = %(key)s and k.revoked_at is null;

-- name: key_context
-- Who a key speaks for; null when there is no such key, or its secret is another, or it is over.
select recollect.key_context(%(tenant)s, %(key)s, %(secret)s) as context;

-- name: forget_user_keys
-- The keys that speak for a user who is being forgotten.
delete from recollect.api_key k where k.tenant_id = %(tenant)s and k.context ->> 'user_id' = %(user)s;

-- name: forget_ended_keys
-- Keys of some names that are over: nobody will ask for them again.
delete from recollect.api_key k
where k.tenant_id = %(tenant)s and k.name = any(%(names)s::text[])
    and (k.revoked_at <= %(now)s::timestamptz or k.expires_at <= %(now)s::timestamptz);
