-- A store may be spread over many machines: what form it has, how a transaction says who is asking in either of them,
-- and where a new table goes.
alter table recollect.store add column form text not null default 'single'
    check (form in ('single', 'distributing', 'cluster'));

-- Begin to act for a caller, until the transaction ends. On a cluster it also reads the caller's scopes, once for the
-- transaction (cluster.sql).
create function recollect.enter(tenant text, caller text) returns void
language plpgsql
set search_path = recollect, pg_catalog, pg_temp
as $$
begin
    perform set_config('recollect.tenant', enter.tenant, true), set_config('recollect.caller', enter.caller, true);
end $$;

-- Give a new table its place: nothing to do on one machine, on a cluster it is sharded by tenant_id like the others.
-- A migration calls it before it adds foreign keys and policies.
create procedure recollect.place(target text)
language plpgsql
set search_path = recollect, pg_catalog, pg_temp
as $$
begin
    if (select s.form from store s) = 'cluster' then
        execute format('select create_distributed_table(%L, ''tenant_id'', colocate_with => ''recollect.tenant'')',
            'recollect.' || quote_ident(target));
    end if;
end $$;

revoke execute on function recollect.enter(text, text) from public;
revoke execute on procedure recollect.place(text) from public;
grant execute on function recollect.enter(text, text) to recollect_app;
