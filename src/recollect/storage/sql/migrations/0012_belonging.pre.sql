-- What raw SQL could still do: hang rows on other people's memories and scopes, and keep large objects.

-- What is kept of a memory is kept in its scope: nobody hangs a term, a vector or a name on somebody else's memory. Once
-- for each statement, since a memory has hundreds of them: a foreign key would be asked for each row, and planned anew.
create function recollect.refuse_strays() returns trigger
language plpgsql security definer
set plan_cache_mode = force_generic_plan
set search_path = recollect, pg_catalog, pg_temp
as $$
begin
    if exists (
        select from (select distinct n.tenant_id, n.memory_id, n.scope_id from changed n) x
        where not exists (select from memory m
            where m.tenant_id = x.tenant_id and m.memory_id = x.memory_id and m.scope_id = x.scope_id)) then
        raise insufficient_privilege using message = format('row of %I belongs to no memory of its scope', tg_table_name);
    end if;
    return null;
end $$;

do $$
declare
    target text;
begin
    -- A partition can be named directly, so each one has its own.
    for target in select c.relname from pg_class c
                  where c.relnamespace = 'recollect'::regnamespace and c.relkind in ('r', 'p')
                      and c.relname ~ '^(mention|(posting|embedding)(_[0-9]+)?)$'
                  order by c.relname loop
        execute format('create trigger inserted after insert on recollect.%I referencing new table as changed'
            ' for each statement execute function recollect.refuse_strays()', target);
        execute format('create trigger updated after update on recollect.%I referencing new table as changed'
            ' for each statement execute function recollect.refuse_strays()', target);
    end loop;
end $$;

-- What happened is told where the caller may write; erasing one's own words is allowed everywhere.
do $$
declare
    here constant text := 'tenant_id = (select recollect.caller_tenant()) and ((select recollect.caller_is_admin())'
        ' or (by_user = (select coalesce(recollect.caller() ->> ''user'', ''''))'
        ' and (scope_id is null or scope_id = any((select recollect.caller_scopes(''writable''))::uuid[]))))';
begin
    execute format('alter policy insertable on recollect.event with check (%s)', here);
    execute format('alter policy updatable on recollect.event with check (%s)', here);
end $$;

-- Large objects stand outside row-level security and belong to no tenant. Only a superuser may take the right away.
do $$
declare
    target regprocedure;
begin
    if (select rolsuper from pg_roles where rolname = current_user) then
        for target in select p.oid::regprocedure from pg_proc p
                      where p.pronamespace = 'pg_catalog'::regnamespace
                          and p.proname ~ '^(lo_.*|loread|lowrite)$' loop
            execute format('revoke execute on function %s from public', target);
        end loop;
    end if;
end $$;

revoke execute on function recollect.refuse_strays() from public;
