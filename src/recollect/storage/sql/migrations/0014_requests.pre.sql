-- What a request was, for whoever looks after a tenant: how long each stage took and, where its admin says so, its words.
alter table recollect.tenant add column keep_questions boolean not null default false;
grant update (keep_questions) on recollect.tenant to recollect_app;
alter table recollect.retrieval_event
    add column question text,
    add column stages jsonb not null default '{}';
alter table recollect.retrieval_event alter column question set statistics 0;

-- What was asked goes with what was found, when that is erased.
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
    perform pg_advisory_xact_lock(hashtextextended('recollect.traces ' || tenant, 0));
    select coalesce(array_agg(i), '{}') into gone from unnest(ids) i
    where not exists (select from memory m where m.tenant_id = tenant and m.memory_id = i);
    select coalesce(array_agg(e), '{}') into unspoken from unnest(forget_traces.entities) e
    where not exists (select from mention m where m.tenant_id = tenant and m.entity = e)
        and not exists (select from entity k where k.tenant_id = tenant and k.entity = e);
    delete from feedback f where f.tenant_id = tenant and f.memory_id = any(gone);
    get diagnostics forget_traces.feedback = row_count;
    -- What was asked when they were found may well say what they said.
    update retrieval_event v set question = null
    where v.tenant_id = tenant and v.question is not null and exists (
        select from retrieval_hit h
        where h.tenant_id = tenant and h.query_id = v.query_id and h.memory_id = any(gone));
    delete from retrieval_hit h where h.tenant_id = tenant and h.memory_id = any(gone);
    get diagnostics forget_traces.hits = row_count;
    delete from run r where r.tenant_id = tenant and r.memory_ids && gone;
    get diagnostics forget_traces.runs = row_count;
    if cardinality(gone) > 0 then
        -- An answer that quotes a memory names its id; one that tells of many may quote a name alone.
        delete from reply y where y.tenant_id = tenant and y.status is not null and (
            exists (
                select from regexp_matches(y.body, '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}', 'g') as said(id)
                where said.id[1] = any(gone::text[]))
            or exists (select from unnest(unspoken) e where strpos(lower(y.body), lower(e)) > 0));
        delete from event v where v.tenant_id = tenant and exists (
            select from jsonb_array_elements_text(v.detail -> 'ids') i where i = any(gone::text[]));
    end if;
    if cardinality(unspoken) > 0 then
        update retrieval_event v
        set entities = array(select e from unnest(v.entities) e where e <> all(unspoken))
        where v.tenant_id = tenant and v.entities && unspoken;
    end if;
end $$;
