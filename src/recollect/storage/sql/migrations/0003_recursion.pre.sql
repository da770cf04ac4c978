-- Recursion: what runs leave behind for learning, and how a tenant's questions are routed.

-- From which complexity on questions are decomposed, and whether they are at all; null: as the settings say.
alter table recollect.tenant
    add column recursion_threshold double precision check (recursion_threshold between 0 and 1),
    add column recursion_enabled boolean;

-- One run of the recursive engine. The trajectory keeps what was chosen, how likely it was, and what it cost; no
-- word of the question nor of a memory. query_id: the search it served, whose outcome is also the run's. outcome,
-- quality, reward: what training took it for. memory_ids: all memories it met; it goes when one of them does.
create table recollect.run (
    tenant_id text collate "C" not null,
    run_id uuid not null,
    query_id uuid,
    user_id text not null,
    session text not null default '',
    environment text not null,
    planner text not null,
    policy_id uuid,
    started_at timestamptz not null,
    stopped_by text not null,
    subcalls integer not null,
    tokens bigint not null,
    outcome text check (outcome in ('result_used', 'result_ignored', 'query_refined', 'no_signal')),
    quality real,
    reward real check (reward between -1 and 1),
    trained boolean not null default false,
    memory_ids uuid[] not null default '{}',
    trajectory jsonb not null,
    primary key (tenant_id, run_id),
    -- A run that is written while its tenant is being forgotten goes with it.
    foreign key (tenant_id) references recollect.tenant on delete cascade
);
create index run_at on recollect.run (tenant_id, started_at desc);
create index run_user on recollect.run (tenant_id, user_id);
create index run_pending on recollect.run (tenant_id, started_at) where not trained;

alter table recollect.run alter column trajectory set statistics 0, alter column memory_ids set statistics 0;

do $$
declare
    admin constant text := '(select recollect.caller_is_admin())';
    me constant text := '(select recollect.caller() ->> ''user'')';
    own constant text := admin || ' or user_id = ' || me;
begin
    call recollect.protect('run', own, own);
end $$;

-- As before, and runs that met a memory that is gone.
drop function recollect.forget_traces(uuid[], text[]);
create function recollect.forget_traces(
    ids uuid[], entities text[], out feedback bigint, out hits bigint, out runs bigint)
language plpgsql security definer
set search_path = recollect, pg_catalog, pg_temp
as $$
declare
    tenant text := recollect.caller_tenant();
    gone uuid[];
    unspoken text[];
begin
    select coalesce(array_agg(i), '{}') into gone from unnest(ids) i
    where not exists (select from memory m where m.tenant_id = tenant and m.memory_id = i);
    delete from feedback f where f.tenant_id = tenant and f.memory_id = any(gone);
    get diagnostics forget_traces.feedback = row_count;
    delete from retrieval_hit h where h.tenant_id = tenant and h.memory_id = any(gone);
    get diagnostics forget_traces.hits = row_count;
    delete from run r where r.tenant_id = tenant and r.memory_ids && gone;
    get diagnostics forget_traces.runs = row_count;
    select coalesce(array_agg(e), '{}') into unspoken from unnest(forget_traces.entities) e
    where not exists (select from mention m where m.tenant_id = tenant and m.entity = e);
    if cardinality(unspoken) > 0 then
        update retrieval_event v
        set entities = array(select e from unnest(v.entities) e where e <> all(unspoken))
        where v.tenant_id = tenant and v.entities && unspoken;
    end if;
end $$;

revoke execute on function recollect.forget_traces(uuid[], text[]) from public;
grant execute on function recollect.forget_traces(uuid[], text[]) to recollect_app;
