-- Answers that were given, kept for a day: a request that is sent again under the same key is not carried out again.

-- request: the SHA-256 of what was asked. status and body are null while it is being carried out.
create table recollect.reply (
    tenant_id text collate "C" not null,
    user_id text not null,
    key text collate "C" not null,
    request bytea not null,
    at timestamptz not null,
    status integer,
    body text,
    primary key (tenant_id, user_id, key),
    foreign key (tenant_id) references recollect.tenant on delete cascade
);
create index reply_at on recollect.reply (tenant_id, at);

alter table recollect.reply
    alter column user_id set statistics 0, alter column key set statistics 0, alter column request set statistics 0,
    alter column body set statistics 0;

do $$
declare
    me constant text := '(select coalesce(recollect.caller() ->> ''user'', ''''))';
    own constant text := '(select recollect.caller_is_admin()) or user_id = ' || me;
begin
    call recollect.protect('reply', own, own);
end $$;

-- As before, and answers that were kept: one of them may quote what is gone.
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
    end if;
    return erased;
end $$;
