-- Who answers for what a shared scope was told, so that no member outweighs or crowds out the others.
alter table recollect.memory add column author text;
alter table recollect.memory alter column author set statistics 0;

-- The member who writes into a shared scope; null for its lead, for an admin, and where a scope is somebody's own.
create function recollect.author_in(scope_id uuid, layer smallint) returns text
language sql stable
set search_path = pg_catalog, pg_temp
as $$
    select case when layer >= 4 and not recollect.caller_is_admin()
        and scope_id <> all(recollect.caller_scopes('managed'))
    then coalesce(recollect.caller() ->> 'user', recollect.caller() ->> 'agent') end
$$;

revoke execute on function recollect.author_in(uuid, smallint) from public;
grant execute on function recollect.author_in(uuid, smallint) to recollect_app;
