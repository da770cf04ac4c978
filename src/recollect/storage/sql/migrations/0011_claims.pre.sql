-- What a caller claims is read strictly: "yes" is no admin, and nobody leads what is somebody's own.

create or replace function recollect.caller() returns jsonb
language sql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
    select said from (select nullif(current_setting('recollect.caller', true), '')::jsonb as said) x
    where jsonb_typeof(said) = 'object'
        and coalesce(jsonb_typeof(said -> 'user'), 'null') in ('string', 'null')
        and coalesce(jsonb_typeof(said -> 'agent'), 'null') in ('string', 'null')
        and coalesce(jsonb_typeof(said -> 'session'), 'null') in ('string', 'null')
        and coalesce(jsonb_typeof(said -> 'admin'), 'null') in ('boolean', 'null')
        and coalesce(jsonb_typeof(said -> 'leads'), 'null') in ('array', 'null')
$$;

create or replace function recollect.caller_is_admin() returns boolean
language sql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$ select coalesce((recollect.caller() ->> 'admin')::boolean, false) $$;

create or replace function recollect.caller_scopes(kind text) returns uuid[]
language plpgsql stable security definer
set search_path = recollect, pg_catalog, pg_temp
as $$
declare
    tenant text := recollect.caller_tenant();
    who jsonb := recollect.caller();
    me text := coalesce(who ->> 'user', '');
    agent text := who ->> 'agent';
    session text := who ->> 'session';
    own uuid[] := '{}';
    joined uuid[] := '{}';
    led uuid[] := '{}';
    found uuid[];
begin
    if tenant is null or who is null then
        return '{}';
    end if;
    if kind <> 'managed' then
        select coalesce(array_agg(s.scope_id), '{}') into own
        from scope s
        where s.tenant_id = tenant and (
            (s.layer = 2 and me <> '' and s.name = me)
            or (s.layer = 1 and s.owner = me and (s.name = agent or (agent is null and me <> '')))
            or (s.layer = 3 and s.owner = me and (s.name = session or (session is null and me <> ''))));
    end if;
    if me <> '' then
        select coalesce(array_agg(m.scope_id), '{}'),
               coalesce(array_agg(m.scope_id) filter (where m.role = 'lead'), '{}')
        into joined, led
        from membership m where m.tenant_id = tenant and m.user_id = me;
    end if;
    if jsonb_typeof(who -> 'leads') = 'array' and who -> 'leads' <> '[]' then
        -- Shared scopes alone: nobody leads what is somebody's own.
        select led || coalesce(array_agg(s.scope_id), '{}') into led
        from jsonb_array_elements(who -> 'leads') claim
        join scope s on s.tenant_id = tenant and s.layer in (4, 5, 6, 7) and s.owner = '' and s.name = claim ->> 1
            and claim = jsonb_build_array(s.layer, s.name);
    end if;
    if cardinality(led) > 0 then
        with recursive below as (
            select unnest(led) as scope_id
            union
            select s.scope_id from below b join scope s on s.tenant_id = tenant and s.parent_id = b.scope_id)
        select array_agg(b.scope_id) into led from below b;
    end if;
    if kind = 'managed' then
        return led;
    end if;
    if kind = 'writable' then
        return own || joined || led;
    end if;
    with recursive above as (
        select unnest(joined || led) as scope_id
        union
        select s.parent_id from above a join scope s on s.tenant_id = tenant and s.scope_id = a.scope_id
        where s.parent_id is not null)
    select own || led || coalesce(array_agg(a.scope_id), '{}') into found from above a;
    return found;
end $$;
