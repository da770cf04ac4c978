-- Keys of applications: who a request over the network speaks for.

-- secret: the SHA-256 of what only the holder has. context: the user, agent, roles and scopes that it speaks with.
create table recollect.api_key (
    tenant_id text collate "C" not null,
    key_id uuid not null,
    name text not null,
    secret bytea not null check (length(secret) = 32),
    context jsonb not null,
    created_by text not null,
    created_at timestamptz not null,
    expires_at timestamptz,
    revoked_at timestamptz,
    used_at timestamptz,
    primary key (tenant_id, key_id),
    foreign key (tenant_id) references recollect.tenant on delete cascade
);

alter table recollect.api_key
    alter column name set statistics 0, alter column secret set statistics 0, alter column context set statistics 0,
    alter column created_by set statistics 0;

do $$
declare
    admin constant text := '(select recollect.caller_is_admin())';
begin
    call recollect.protect('api_key', admin, admin);
end $$;

-- Who a key speaks for: nothing unless its secret is shown too. Runs with its owner's rights because whoever shows a
-- key is nobody yet; it tells them only what the key already is.
create function recollect.key_context(tenant text, key uuid, secret bytea) returns jsonb
language plpgsql security definer
set search_path = recollect, pg_catalog, pg_temp
as $$
declare
    shown record;
begin
    select k.context, k.used_at into shown from api_key k
    where k.tenant_id = key_context.tenant and k.key_id = key_context.key and k.secret = key_context.secret
        and k.revoked_at is null and (k.expires_at is null or k.expires_at > now());
    if not found then
        return null;
    end if;
    -- Once a minute: a busy key must not write a row for every request.
    if shown.used_at is null or shown.used_at < now() - interval '1 minute' then
        update api_key k set used_at = now()
        where k.tenant_id = key_context.tenant and k.key_id = key_context.key;
    end if;
    return shown.context;
end $$;

revoke execute on function recollect.key_context(text, uuid, bytea) from public;
grant execute on function recollect.key_context(text, uuid, bytea) to recollect_app;
