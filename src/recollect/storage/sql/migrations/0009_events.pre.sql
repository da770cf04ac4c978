-- What happened, for whoever watches: kept for a week, told to every process when it is committed.

-- scope_id: the scope it happened in, null when it concerns its user alone. detail: ids and counts of memories, never
-- their text; of a consultation what it tells while it goes on.
create table recollect.event (
    tenant_id text collate "C" not null,
    event_id uuid not null,
    at timestamptz not null default clock_timestamp(),
    type text not null,
    by_user text not null,
    scope_id uuid,
    detail jsonb not null default '{}',
    primary key (tenant_id, event_id),
    foreign key (tenant_id) references recollect.tenant on delete cascade
);
create index event_at on recollect.event (tenant_id, at);

alter table recollect.event
    alter column by_user set statistics 0, alter column detail set statistics 0;

do $$
declare
    admin constant text := '(select recollect.caller_is_admin())';
    me constant text := '(select coalesce(recollect.caller() ->> ''user'', ''''))';
    reads constant text := admin || ' or scope_id = any((select recollect.caller_scopes(''visible''))::uuid[])'
        || ' or (scope_id is null and by_user = ' || me || ')';
    writes constant text := admin || ' or by_user = ' || me;
begin
    call recollect.protect('event', reads, writes);
end $$;

-- As before, and what was told of a memory that is gone.
create or replace function recollect.forget_traces(
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
    if cardinality(gone) > 0 then
        delete from reply y where y.tenant_id = tenant and y.status is not null;
        delete from event v where v.tenant_id = tenant and exists (
            select from jsonb_array_elements_text(v.detail -> 'ids') i where i = any(gone::text[]));
    end if;
    select coalesce(array_agg(e), '{}') into unspoken from unnest(forget_traces.entities) e
    where not exists (select from mention m where m.tenant_id = tenant and m.entity = e);
    if cardinality(unspoken) > 0 then
        update retrieval_event v
        set entities = array(select e from unnest(v.entities) e where e <> all(unspoken))
        where v.tenant_id = tenant and v.entities && unspoken;
    end if;
end $$;

create or replace function recollect.forget_consultations(documents text[]) returns bigint
language plpgsql security definer
set search_path = recollect, pg_catalog, pg_temp
as $$
declare
    tenant text := recollect.caller_tenant();
    gone text[];
    erased bigint;
begin
    select coalesce(array_agg(d), '{}') into gone from unnest(forget_consultations.documents) d
    where not exists (select from document x where x.tenant_id = tenant and x.document_id::text = d);
    delete from consultation c where c.tenant_id = tenant and c.documents && gone;
    get diagnostics erased = row_count;
    if cardinality(gone) > 0 then
        delete from reply y where y.tenant_id = tenant and y.status is not null;
        -- What consultations told meanwhile may quote it.
        delete from event v where v.tenant_id = tenant and v.scope_id is null;
    end if;
    return erased;
end $$;
