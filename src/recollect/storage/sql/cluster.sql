-- What has another form when a store is spread over many machines (Citus). Run by `recollect db distribute`, and again
-- after every migration: each statement can be repeated.
--
--   * Policies of sharded tables may hold no subquery, and a shard can't read other tables. So enter() reads the
--     caller's scopes once for a transaction and sets recollect.rights: 'admin', or 'v' (visible), 'w' (writable) and
--     'm' (managed) before the scope's id, as in 'v0190...,w0190...'. Nothing set means no rows.
--   * A setting reaches the shards by a SET LOCAL statement of its own, never by set_config().
--   * Functions that ran with their owner's rights would reach the shards by a connection of the owner's, which sees
--     nothing of what the transaction has written. They run as the caller instead, whom the store makes the tenant's
--     admin for as long as they take: whoever may call them may claim that anyway.

create or replace function recollect.caller_is_admin() returns boolean
language sql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$ select coalesce(strpos(current_setting('recollect.rights', true), 'admin') > 0, false) $$;

create or replace function recollect.caller_scopes(kind text) returns uuid[]
language sql stable parallel safe security invoker
set search_path = pg_catalog, pg_temp
as $$
    select coalesce(array_agg(found[1]::uuid), '{}')
    from regexp_matches(current_setting('recollect.rights', true), left(kind, 1) || '([0-9a-f-]{36})', 'g') found
$$;

-- Immutable in name: an UPDATE of a sharded table calls no other function with a column. It is never folded, since it
-- is called with columns alone.
create or replace function recollect.author_in(scope_id uuid, layer smallint) returns text
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
    select case when layer >= 4 and not recollect.caller_is_admin()
        and scope_id <> all(recollect.caller_scopes('managed'))
    then coalesce(recollect.caller() ->> 'user', recollect.caller() ->> 'agent') end
$$;

-- Whether the transaction has written on the shard of a row; immutable in name for the same reason.
create or replace function recollect.has_written(key text) returns boolean
language sql immutable
set search_path = pg_catalog, pg_temp
as $$ select pg_current_xact_id_if_assigned() is not null $$;

-- The rights of a caller whose tenant and name are set, as recollect.rights writes them down. The rules are those of
-- caller_scopes() on one machine.
create or replace function recollect.caller_rights() returns text
language plpgsql
-- Citus finds the shard by the values that are there.
set plan_cache_mode = force_custom_plan
set search_path = recollect, pg_catalog, pg_temp
as $$
declare
    tenant text := recollect.caller_tenant();
    who jsonb := recollect.caller();
    me text := coalesce(who ->> 'user', '');
    agent text := who ->> 'agent';
    session text := who ->> 'session';
    leads jsonb := case when jsonb_typeof(who -> 'leads') = 'array' then who -> 'leads' else '[]' end;
    rights text;
begin
    if tenant is null or who is null then
        return '';
    end if;
    if coalesce((who ->> 'admin')::boolean, false) then
        return 'admin';
    end if;
    with recursive own as (
        select s.scope_id from scope s
        where s.tenant_id = tenant and (
            (s.layer = 2 and me <> '' and s.name = me)
            or (s.layer = 1 and s.owner = me and (s.name = agent or (agent is null and me <> '')))
            or (s.layer = 3 and s.owner = me and (s.name = session or (session is null and me <> ''))))),
    joined as (
        select m.scope_id, m.role from membership m where m.tenant_id = tenant and m.user_id = me and me <> ''),
    led as (
        select j.scope_id from joined j where j.role = 'lead'
        union
        select s.scope_id from jsonb_array_elements(leads) claim
        join scope s on s.tenant_id = tenant and s.layer in (4, 5, 6, 7) and s.owner = '' and s.name = claim ->> 1
            and claim = jsonb_build_array(s.layer, s.name)),
    below as (
        select l.scope_id from led l
        union
        select s.scope_id from below b join scope s on s.tenant_id = tenant and s.parent_id = b.scope_id),
    above as (
        select x.scope_id from (select j.scope_id from joined j union select b.scope_id from below b) x
        union
        select s.parent_id from above a join scope s on s.tenant_id = tenant and s.scope_id = a.scope_id
        where s.parent_id is not null)
    select string_agg(x.code || x.scope_id::text, ',') into rights from (
        select 'v' as code, o.scope_id from own o union select 'v', a.scope_id from above a
        union select 'w', o.scope_id from own o union select 'w', j.scope_id from joined j
        union select 'w', b.scope_id from below b union select 'm', b.scope_id from below b) x;
    return coalesce(rights, '');
end $$;

create or replace function recollect.enter(tenant text, caller text) returns void
language plpgsql
set search_path = recollect, pg_catalog, pg_temp
as $$
begin
    execute format('set local recollect.tenant = %L', enter.tenant);
    execute format('set local recollect.caller = %L', enter.caller);
    -- What no caller is, is nobody: policies read single parts of it.
    if recollect.caller() is null then
        execute 'set local recollect.caller = ''''';
    end if;
    -- Reading the scopes takes the right to see them.
    execute 'set local recollect.rights = ''admin''';
    execute format('set local recollect.rights = %L', recollect.caller_rights());
end $$;

do $$
declare
    target text;
begin
    foreach target in array array['forget_traces(uuid[], text[])', 'forget_consultations(text[])',
        'key_context(text, uuid, bytea)'] loop
        -- The search path last: whoever looks at a function sees that temporary objects come last of all.
        execute format('alter function recollect.%s security invoker reset search_path'
            ' set plan_cache_mode = force_custom_plan set search_path = recollect, pg_catalog, pg_temp', target);
    end loop;
end $$;

-- A policy's condition without subqueries.
create or replace function recollect.sharded(condition text) returns text
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
    select regexp_replace(regexp_replace(regexp_replace(regexp_replace(regexp_replace(regexp_replace(condition,
        '(\w+) = ANY \(\(\s*SELECT recollect\.caller_scopes\(''(\w)\w*''::text\) AS caller_scopes\)(?:::uuid\[\])?\)',
        'strpos(current_setting(''recollect.rights'', true), ''\2'' || \1::text) > 0', 'g'),
        'recollect\.caller_tenant\(\)', 'nullif(current_setting(''recollect.tenant'', true), '''')', 'g'),
        'recollect\.caller_is_admin\(\)',
        'coalesce(strpos(current_setting(''recollect.rights'', true), ''admin'') > 0, false)', 'g'),
        'recollect\.caller\(\)', '(nullif(current_setting(''recollect.caller'', true), '''')::jsonb)', 'g'),
        '\( SELECT ', '(', 'g'),
        ' AS "?[\w?]+"?\)', ')', 'g')
$$;

-- Bring a table's policies into the form that shards take.
create or replace procedure recollect.shard_policies(target text)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
    rule record;
begin
    for rule in
        select p.polname, c.relname, recollect.sharded(pg_get_expr(p.polqual, p.polrelid)) as reads,
            recollect.sharded(pg_get_expr(p.polwithcheck, p.polrelid)) as writes
        from pg_policy p join pg_class c on c.oid = p.polrelid
        where c.relnamespace = 'recollect'::regnamespace and c.relname = target
            and concat(pg_get_expr(p.polqual, p.polrelid), pg_get_expr(p.polwithcheck, p.polrelid)) ~ 'SELECT|recollect\.\w+\('
    loop
        if concat(rule.reads, rule.writes) ~* 'select|recollect\.\w+\(' then
            raise exception 'the policy % of % has no form for shards: % %', rule.polname, rule.relname, rule.reads, rule.writes;
        end if;
        execute concat_ws(' ', format('alter policy %I on recollect.%I', rule.polname, rule.relname),
            'using (' || rule.reads || ')', 'with check (' || rule.writes || ')');
    end loop;
end $$;

revoke execute on all functions in schema recollect from public;
revoke execute on all procedures in schema recollect from public;
grant execute on function recollect.caller_rights(), recollect.has_written(text) to recollect_app;
