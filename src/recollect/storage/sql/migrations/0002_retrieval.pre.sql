-- Retrieval: entities, summaries, conflicts, the ontology, and what learning needs.

-- The store's own id: hashes of the words of questions are keyed with it. Postings so far are of version 1.
insert into recollect.store (terms_version) values (1) on conflict do nothing;

alter table recollect.memory add column mentions text[] not null default '{}';
alter table recollect.memory alter column mentions set statistics 0;
alter table recollect.memory add column event_at timestamptz not null
    generated always as (coalesce(valid_from, created_at)) stored;
create index memory_event on recollect.memory (tenant_id, event_at desc);
create index memory_kind on recollect.memory (tenant_id, type, created_at desc) where type in ('procedural', 'summary');
-- The facts known of a subject in a scope, and what was derived from a memory. A B-tree entry has to be short.
create index memory_fact on recollect.memory (tenant_id, scope_id, subject)
    where superseded_at is null and length(subject) <= 200;
create index memory_derived on recollect.memory (tenant_id, source) where length(source) <= 60;

alter table recollect.mention add column given boolean not null default true;
create index mention_given on recollect.mention (tenant_id, entity, given, memory_id);

-- What texts are about --------------------------------------------------------------------------------

-- An entity as one scope knows it: made with its first mention there, erased with its last, so that no name
-- outlives the memories that spoke of it. The scope of only zeros stands for "declared for the whole tenant".
-- canonical: the row of the domain database it is, such as 'customer:a1b2'.
create table recollect.entity (
    tenant_id text collate "C" not null,
    entity text collate "C" not null,
    scope_id uuid not null,
    name text not null,
    kind text not null,
    source text not null check (source in ('found', 'given', 'declared', 'domain')),
    canonical text collate "C",
    created_at timestamptz not null default now(),
    primary key (tenant_id, entity, scope_id)
);
create index entity_scope on recollect.entity (tenant_id, scope_id);
create index entity_canonical on recollect.entity (tenant_id, canonical) where canonical is not null;

-- How an entity is looked up, by equality alone: its aliases, the words of its name, and the first and last
-- letters of each word, which a misspelt name shares.
create table recollect.entity_key (
    tenant_id text collate "C" not null,
    key text collate "C" not null,
    kind text not null check (kind in ('alias', 'word', 'start', 'end')),
    entity text collate "C" not null,
    scope_id uuid not null,
    confidence real not null default 1 check (confidence between 0 and 1),
    source text not null default 'name' check (source in ('name', 'declared', 'learned')),
    primary key (tenant_id, key, kind, entity, scope_id)
);
create index entity_key_entity on recollect.entity_key (tenant_id, entity, scope_id);

-- Two memories that can't both be true and of which none replaces the other.
create table recollect.conflict (
    tenant_id text collate "C" not null,
    memory_id uuid not null,
    other_id uuid not null,
    scope_id uuid not null,
    reason text not null,
    at timestamptz not null default now(),
    primary key (tenant_id, memory_id, other_id)
);
create index conflict_other on recollect.conflict (tenant_id, other_id);

-- What a summary is of. about: the conversation, '' for the whole scope, or the entity. inputs: a digest of all
-- memories that were looked at, by which new ones are noticed. stale: to be made again whatever the digest says.
create table recollect.summary (
    tenant_id text collate "C" not null,
    memory_id uuid not null,
    scope_id uuid not null,
    kind text not null check (kind in ('session', 'scope', 'entity')),
    about text not null,
    made_at timestamptz not null,
    model text,
    stale boolean not null default false,
    inputs bytea not null default '',
    primary key (tenant_id, memory_id),
    unique (tenant_id, scope_id, kind, about)
);

-- The memories a summary came from, as they were.
create table recollect.summary_source (
    tenant_id text collate "C" not null,
    summary_id uuid not null,
    memory_id uuid not null,
    scope_id uuid not null,
    digest bytea not null,
    primary key (tenant_id, summary_id, memory_id)
);
create index summary_source_memory on recollect.summary_source (tenant_id, memory_id);

-- The tenant's ontology: entity types, relations and measures of its own database.
create table recollect.ontology (
    tenant_id text collate "C" primary key references recollect.tenant,
    document jsonb not null,
    updated_at timestamptz not null default now(),
    by text
);

-- Learning ----------------------------------------------------------------------------------------

-- One search: what kind it was, what it was ranked by, what came of it. The question itself is not kept;
-- terms: hashes of its terms, by which a refined question is recognised. outcome: the caller said what it used
-- (used), Recollect put hits into a context (context), a better question followed, nothing was used although the
-- session says what it uses (ignored), somebody judged a hit (feedback).
create table recollect.retrieval_event (
    tenant_id text collate "C" not null,
    query_id uuid not null,
    user_id text not null,
    session text not null default '',
    at timestamptz not null,
    category text not null,
    flags text[] not null default '{}',
    strategy text not null,
    arm text,
    propensity double precision not null default 1 check (propensity > 0 and propensity <= 1),
    weights jsonb not null,
    terms bigint[] not null default '{}',
    entities text[] not null default '{}',
    refines uuid,
    outcome text check (outcome in ('used', 'context', 'refined', 'ignored', 'feedback')),
    hits integer not null,
    latency_ms real not null,
    primary key (tenant_id, query_id),
    -- A search that is written while its tenant is being forgotten goes with it.
    foreign key (tenant_id) references recollect.tenant on delete cascade
);
create index retrieval_event_user on recollect.retrieval_event (tenant_id, user_id, session, at desc);
create index retrieval_event_at on recollect.retrieval_event (tenant_id, at);
create index retrieval_event_judged on recollect.retrieval_event (tenant_id, strategy, user_id, at desc)
    where outcome in ('used', 'feedback');

-- What a search returned, in which place, by which signals, and whether it was used. applied: the memory's
-- utility has learned from it.
create table recollect.retrieval_hit (
    tenant_id text collate "C" not null,
    query_id uuid not null,
    memory_id uuid not null,
    user_id text not null,
    place smallint not null,
    score real not null,
    signals jsonb not null,
    used boolean,
    applied boolean not null default false,
    primary key (tenant_id, query_id, memory_id),
    foreign key (tenant_id, query_id) references recollect.retrieval_event (tenant_id, query_id) on delete cascade
);
create index retrieval_hit_memory on recollect.retrieval_hit (tenant_id, memory_id);
create index retrieval_hit_pending on recollect.retrieval_hit (tenant_id, query_id) where used and not applied;

create table recollect.feedback (
    tenant_id text collate "C" not null,
    feedback_id uuid not null,
    memory_id uuid not null,
    query_id uuid,
    user_id text not null,
    kind text not null check (kind in ('helpful', 'irrelevant', 'outdated', 'inaccurate', 'duplicate')),
    score double precision not null check (score between -1 and 1),
    at timestamptz not null,
    applied boolean not null default false,
    primary key (tenant_id, feedback_id),
    foreign key (tenant_id) references recollect.tenant on delete cascade
);
create index feedback_memory on recollect.feedback (tenant_id, memory_id);
create index feedback_query on recollect.feedback (tenant_id, query_id) where query_id is not null;
create index feedback_pending on recollect.feedback (tenant_id, at) where not applied;

-- Learned weights. user_id '': for the whole tenant.
create table recollect.policy (
    tenant_id text collate "C" not null,
    policy_id uuid not null,
    kind text not null,
    user_id text not null default '',
    category text not null,
    weights jsonb not null,
    evaluation jsonb not null default '{}',
    events integer not null default 0,
    state text not null check (state in ('candidate', 'active', 'retired')),
    created_at timestamptz not null default now(),
    primary key (tenant_id, policy_id),
    foreign key (tenant_id) references recollect.tenant on delete cascade
);
create unique index policy_active on recollect.policy (tenant_id, kind, user_id, category) where state = 'active';

-- A comparison of strategies on live questions.
create table recollect.experiment (
    tenant_id text collate "C" not null,
    name text not null,
    arms jsonb not null,
    state text not null check (state in ('running', 'stopped')),
    created_at timestamptz not null default now(),
    stopped_at timestamptz,
    primary key (tenant_id, name),
    foreign key (tenant_id) references recollect.tenant on delete cascade
);
create unique index experiment_running on recollect.experiment (tenant_id) where state = 'running';

alter table recollect.entity alter column name set statistics 0;
alter table recollect.conflict alter column reason set statistics 0;
alter table recollect.summary alter column about set statistics 0;
alter table recollect.ontology alter column document set statistics 0, alter column by set statistics 0;
alter table recollect.retrieval_event alter column entities set statistics 0;

do $$
declare
    target text;
    admin constant text := '(select recollect.caller_is_admin())';
    visible constant text := admin || ' or scope_id = any((select recollect.caller_scopes(''visible''))::uuid[])';
    writable constant text := admin || ' or scope_id = any((select recollect.caller_scopes(''writable''))::uuid[])';
    everyone constant text := ' or scope_id = ''00000000-0000-0000-0000-000000000000''::uuid';
    me constant text := '(select recollect.caller() ->> ''user'')';
    own constant text := admin || ' or user_id = ' || me;
begin
    foreach target in array array['conflict', 'summary', 'summary_source'] loop
        call recollect.protect(target, visible, writable);
    end loop;
    -- What is declared for the whole tenant is read by all of it and written by its admins.
    foreach target in array array['entity', 'entity_key'] loop
        call recollect.protect(target, visible || everyone, writable);
    end loop;
    -- What somebody asked is between them and the admin.
    foreach target in array array['retrieval_event', 'retrieval_hit', 'feedback'] loop
        call recollect.protect(target, own, own);
    end loop;
    -- Users may erase what was learned from them alone, so their own rows are theirs to write.
    call recollect.protect('policy', own || ' or user_id = ''''', own || ' and user_id <> ''''');
    call recollect.protect('experiment', 'true', admin);
    call recollect.protect('ontology', 'true', admin);
end $$;

-- Erase what searches and feedback keep of memories that are gone, whoever asked or judged. Runs with its owner's
-- rights because those rows are their users' own; it touches nothing of a memory that is still there, nor of
-- another tenant. entities: names the memories spoke of; those that no memory speaks of any more go from events.
create function recollect.forget_traces(ids uuid[], entities text[], out feedback bigint, out hits bigint)
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

-- Jobs ----------------------------------------------------------------------------------------------

-- The queue's tables are in a schema of their own, made when a worker first runs; these two stand between it and
-- callers, so that nothing depends on its being there. A job names a tenant and ids, never a text.

-- Hand a job of the caller's tenant to the workers. False: the same job waits already; null: no worker has ever run.
create function recollect.enqueue(task text, subject text, args jsonb) returns boolean
language plpgsql
set search_path = recollect_jobs, pg_catalog, pg_temp
as $$
declare
    named text := recollect.caller_tenant() || ':' || task || ':' || subject;
begin
    if named is null or to_regclass('recollect_jobs.procrastinate_jobs') is null then
        return null;
    end if;
    perform procrastinate_defer_jobs_v1(array[row('recollect', 'recollect.' || task, 0, named, named,
        args || jsonb_build_object('tenant', recollect.caller_tenant()), null)::procrastinate_job_to_defer_v1]);
    return true;
exception
    when unique_violation then
        return false;
    when insufficient_privilege then
        return null;
end $$;

-- Drop the jobs of a tenant that is being erased; returns how many there were.
create function recollect.forget_jobs(tenant text) returns bigint
language plpgsql
set search_path = recollect_jobs, pg_catalog, pg_temp
as $$
declare
    gone bigint := 0;
begin
    if to_regclass('recollect_jobs.procrastinate_jobs') is not null then
        delete from procrastinate_jobs j where j.args ->> 'tenant' = forget_jobs.tenant;
        get diagnostics gone = row_count;
    end if;
    return gone;
end $$;

revoke execute on function recollect.enqueue(text, text, jsonb), recollect.forget_jobs(text) from public;
grant execute on function recollect.enqueue(text, text, jsonb) to recollect_app;
