-- The whole database schema of Recollect. A new store is written by this file alone; migrations bring an older one to
-- exactly this (tests/storage/test_upgrades.py compares the catalogues).
--
-- Rules that shape it:
--   * tenant_id is the first column of every key of tenant data, so that it can be sharded by tenant.
--   * Row-level security is forced on every table of tenant data. The application role reaches rows only
--     through policies; no caller set means no rows. Policies use the `(select ...)` form, which is
--     evaluated once per query instead of once per row.
--   * B-tree indexes only (and HNSW for vectors): the operators of GIN are not leakproof, so under
--     row-level security they would be filters after a full scan. Text with CHECK instead of enums, for
--     the same reason.
--   * Who asks is said at the start of each transaction with recollect.enter(), which sets for as long as it
--     lasts: recollect.tenant (text) and recollect.caller (JSON: user, agent, session, admin, leads).
--   * On a cluster the policies and a few functions have another form: cluster.sql.

create schema if not exists recollect;
revoke all on schema recollect from public;
grant usage on schema recollect to recollect_app;
do $$ begin
    execute format('grant connect, temporary on database %I to recollect_app', current_database());
end $$;

-- Store-wide facts. Not tenant data: no row names a tenant. ---------------------------------------

-- Which migrations a store has, be it that they ran or that this file wrote what they arrive at.
create table recollect.migration (
    version integer not null,
    phase text not null check (phase in ('pre', 'post')),
    name text not null,
    checksum text not null,
    applied_at timestamptz not null default now(),
    primary key (version, phase)
);

create table recollect.store (
    singleton boolean primary key default true check (singleton),
    store_id uuid not null default gen_random_uuid(),
    terms_version integer not null,
    created_at timestamptz not null default now(),
    -- Whether it is on one machine, on many, or on the way there (storage/cluster).
    form text not null default 'single' check (form in ('single', 'distributing', 'cluster'))
);
-- Its id is there from the start: hashes of the words of questions are keyed with it.
insert into recollect.store (terms_version) values (1);

-- An embedding space: vectors of two spaces can't be compared. Exactly one is active; a second one
-- exists while `reembed` fills it.
create table recollect.space (
    space_id smallint primary key,
    name text not null,
    dimensions integer not null check (dimensions between 1 and 4000),
    fingerprint text not null,
    state text not null check (state in ('active', 'building', 'retired')),
    created_at timestamptz not null default now()
);
create unique index space_one_active on recollect.space (state) where state = 'active';

-- Tenants, scopes, members ------------------------------------------------------------------------

create table recollect.tenant (
    tenant_id text collate "C" primary key,
    name text not null,
    created_at timestamptz not null default now(),
    -- From which complexity on questions are decomposed, and whether they are at all; null: as the settings say.
    recursion_threshold double precision check (recursion_threshold between 0 and 1),
    recursion_enabled boolean,
    -- Whether the words of a search are kept with its trace.
    keep_questions boolean not null default false
);

-- How many days memories of a layer are kept.
create table recollect.retention (
    tenant_id text collate "C" not null references recollect.tenant,
    layer smallint not null check (layer between 1 and 7),
    days integer not null check (days between 1 and 36500),
    primary key (tenant_id, layer)
);

-- owner is the user of an agent or session scope, '' elsewhere.
create table recollect.scope (
    tenant_id text collate "C" not null references recollect.tenant,
    scope_id uuid not null,
    layer smallint not null check (layer between 1 and 7),
    name text not null,
    owner text not null default '',
    parent_id uuid,
    created_at timestamptz not null default now(),
    primary key (tenant_id, scope_id),
    unique (tenant_id, layer, owner, name),
    foreign key (tenant_id, parent_id) references recollect.scope (tenant_id, scope_id)
);
create index scope_children on recollect.scope (tenant_id, parent_id);
create index scope_owned on recollect.scope (tenant_id, owner, layer, name);

create table recollect.membership (
    tenant_id text collate "C" not null,
    user_id text not null,
    scope_id uuid not null,
    role text not null check (role in ('member', 'lead')),
    created_at timestamptz not null default now(),
    primary key (tenant_id, user_id, scope_id),
    foreign key (tenant_id, scope_id) references recollect.scope (tenant_id, scope_id) on delete cascade
);
create index membership_scope on recollect.membership (tenant_id, scope_id);

-- Counts per scope: they choose between exact search and HNSW, and are BM25's corpus statistics.
create table recollect.tally (
    tenant_id text collate "C" not null,
    scope_id uuid not null,
    memories bigint not null default 0,
    vectors bigint not null default 0,
    terms bigint not null default 0,
    primary key (tenant_id, scope_id),
    foreign key (tenant_id, scope_id) references recollect.scope (tenant_id, scope_id) on delete cascade
);

-- Memories ----------------------------------------------------------------------------------------

create table recollect.conversation (
    tenant_id text collate "C" not null,
    conversation_id uuid not null,
    scope_id uuid not null,
    name text not null,
    turns integer not null default 0,
    primary key (tenant_id, conversation_id),
    unique (tenant_id, scope_id, name),
    unique (tenant_id, scope_id, conversation_id),
    foreign key (tenant_id, scope_id) references recollect.scope (tenant_id, scope_id)
);

-- since/until: from when to when the store believed this row ("as of"). until is the earliest of
-- superseded_at, expires_at and the layer's retention. version_of: this row is what that memory said
-- before an update; it is erased with it. entities: what the caller says it is about; mentions: names found in
-- its text. author: the member who answers for it in a shared scope, see author_in(). The year 9999 stands for
-- "for ever": drivers can't read 'infinity'.
create table recollect.memory (
    tenant_id text collate "C" not null,
    memory_id uuid not null,
    scope_id uuid not null,
    layer smallint not null check (layer between 1 and 7),
    type text not null check (type in ('episodic', 'semantic', 'procedural', 'summary')),
    text text not null,
    digest bytea not null,
    subject text,
    predicate text,
    object text,
    trigger text,
    action text,
    entities text[] not null default '{}',
    importance double precision not null check (importance between 0 and 1),
    use_count integer not null default 0,
    utility double precision not null default 0,
    metadata jsonb not null default '{}',
    source text,
    conversation_id uuid,
    position integer,
    speaker text,
    created_at timestamptz not null,
    valid_from timestamptz,
    valid_to timestamptz check (valid_to >= valid_from),
    expires_at timestamptz,
    superseded_by uuid,
    superseded_at timestamptz,
    version_of uuid,
    since timestamptz not null,
    until timestamptz not null default timestamptz '9999-01-01 00:00+00',
    updated_at timestamptz not null default now(),
    mentions text[] not null default '{}',
    event_at timestamptz not null generated always as (coalesce(valid_from, created_at)) stored,
    author text,
    primary key (tenant_id, memory_id),
    foreign key (tenant_id, scope_id) references recollect.scope (tenant_id, scope_id),
    -- With the scope: nobody hangs a turn of their own into a conversation they may only read.
    foreign key (tenant_id, scope_id, conversation_id)
        references recollect.conversation (tenant_id, scope_id, conversation_id)
) partition by hash (tenant_id);
-- A repeat of the same text in the same scope is one memory; turns of a conversation never are.
create unique index memory_repeat on recollect.memory (tenant_id, scope_id, digest)
    where conversation_id is null and superseded_at is null;
create index memory_newest on recollect.memory (tenant_id, created_at desc, memory_id desc);
create index memory_scope on recollect.memory (tenant_id, scope_id, created_at desc, memory_id desc);
create index memory_turn on recollect.memory (tenant_id, conversation_id, position)
    where conversation_id is not null;
create index memory_until on recollect.memory (tenant_id, until) where until < timestamptz '9999-01-01 00:00+00';
create index memory_superseded_by on recollect.memory (tenant_id, superseded_by) where superseded_by is not null;
-- When it happened or became true, for questions about a time. A column, because under row-level security no index is
-- used for an expression with coalesce(), which PostgreSQL does not take for leakproof.
create index memory_event on recollect.memory (tenant_id, event_at desc);
-- The few of a kind that some questions ask for.
create index memory_kind on recollect.memory (tenant_id, type, created_at desc) where type in ('procedural', 'summary');
-- The facts known of a subject in a scope, and what was derived from a memory. A B-tree entry has to be short.
create index memory_fact on recollect.memory (tenant_id, scope_id, subject)
    where superseded_at is null and length(subject) <= 200;
create index memory_derived on recollect.memory (tenant_id, source) where length(source) <= 60;
create index memory_version_of on recollect.memory (tenant_id, version_of) where version_of is not null;

-- Vectors apart from memories: counting a use must not touch a vector index, and two spaces can
-- stand side by side. A text longer than the embedder's window has several parts.
create table recollect.embedding (
    tenant_id text collate "C" not null,
    space_id smallint not null,
    memory_id uuid not null,
    part smallint not null,
    scope_id uuid not null,
    since timestamptz not null,
    until timestamptz not null,
    embedding halfvec not null,
    primary key (tenant_id, space_id, memory_id, part)
) partition by hash (tenant_id);
-- Not (tenant, space, scope): before the first ANALYZE the planner would take it for looking one memory up.
create index embedding_scope on recollect.embedding (tenant_id, scope_id, space_id);

-- BM25's inverted index. tf: how often the term stands in the memory; dl: the memory's length in terms.
create table recollect.posting (
    tenant_id text collate "C" not null,
    term text collate "C" not null,
    memory_id uuid not null,
    scope_id uuid not null,
    tf smallint not null,
    dl integer not null,
    primary key (tenant_id, term, memory_id) include (scope_id, tf, dl)
) partition by hash (tenant_id);
create index posting_memory on recollect.posting (tenant_id, memory_id);

-- entity: the name folded for comparison; memory.entities and memory.mentions keep it as written. given: the memory
-- is about it, because its author says so; otherwise its text names it.
create table recollect.mention (
    tenant_id text collate "C" not null,
    entity text collate "C" not null,
    memory_id uuid not null,
    scope_id uuid not null,
    given boolean not null default true,
    primary key (tenant_id, entity, memory_id)
);
create index mention_memory on recollect.mention (tenant_id, memory_id);
create index mention_given on recollect.mention (tenant_id, entity, given, memory_id);

-- Every change of a memory after it was added; before: the changed fields as they were.
create table recollect.history (
    tenant_id text collate "C" not null,
    history_id uuid not null,
    memory_id uuid not null,
    scope_id uuid not null,
    event text not null check (event in ('updated', 'reinforced', 'superseded', 'restored', 'revived')),
    at timestamptz not null default now(),
    by text,
    before jsonb,
    primary key (tenant_id, history_id)
);
create index history_memory on recollect.history (tenant_id, memory_id, history_id);
-- Restores are few; erasing a memory looks through them for its id.
create index history_restored on recollect.history (tenant_id) where event = 'restored';

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

-- One search: what kind it was, how long each stage took, what it was ranked by, what came of it. question: its words,
-- where the tenant keeps them. terms: hashes of its terms, by which a refined question is recognised. outcome: the caller
-- said what it used (used), Recollect put hits into a context (context), a better question followed, nothing was used
-- although the session says what it uses (ignored), somebody judged a hit (feedback).
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
    question text,
    stages jsonb not null default '{}',
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

-- Library -----------------------------------------------------------------------------------------

-- A document of the library. name: what its owner calls it, such as 'fastapi-docs', once in a scope. digest: of the
-- bytes it was read from, by which an unchanged file is known. Its text is that of its sections, one after another.
-- pages: which lines stand on which page; gaps: what could not be read. by: who added it.
create table recollect.document (
    tenant_id text collate "C" not null,
    document_id uuid not null,
    scope_id uuid not null,
    layer smallint not null check (layer between 1 and 7),
    name text not null,
    title text not null,
    kind text not null,
    source text,
    tags text[] not null default '{}',
    digest bytea not null,
    lines integer not null,
    tokens bigint not null,
    pages jsonb not null default '[]',
    gaps jsonb not null default '[]',
    notes text[] not null default '{}',
    state text not null check (state in ('indexing', 'ready', 'failed')),
    error text,
    by text,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    primary key (tenant_id, document_id),
    unique (tenant_id, scope_id, name),
    unique (tenant_id, scope_id, document_id),
    foreign key (tenant_id, scope_id) references recollect.scope (tenant_id, scope_id)
);
create index document_unready on recollect.document (tenant_id, updated_at) where state = 'indexing';

-- A heading with the lines up to the next one; together the sections are the whole text, in the order of number.
-- section: its identity, which stays when sections before it come and go, so that the passages of an unchanged
-- section are left alone. digest: of all that is indexed of it. indexed: its passages are there.
create table recollect.section (
    tenant_id text collate "C" not null,
    document_id uuid not null,
    section integer not null,
    scope_id uuid not null,
    number integer not null,
    parent integer,
    level smallint not null,
    heading text not null,
    path text not null,
    line_start integer not null,
    line_end integer not null,
    page_first integer,
    page_last integer,
    tokens integer not null,
    digest bytea not null,
    indexed boolean not null default false,
    text text not null,
    primary key (tenant_id, document_id, section),
    -- With the scope: nobody hangs a section of their own into a document they may only read.
    foreign key (tenant_id, scope_id, document_id)
        references recollect.document (tenant_id, scope_id, document_id) on delete cascade
);

-- A piece of a section, as it is searched. line_first and line_last count from the section's first line, which is 0,
-- so they hold wherever the section moves. terms: its length in terms.
create table recollect.passage (
    tenant_id text collate "C" not null,
    space_id smallint not null,
    document_id uuid not null,
    section integer not null,
    part integer not null,
    scope_id uuid not null,
    line_first integer not null,
    line_last integer not null,
    terms integer not null,
    embedding halfvec not null,
    primary key (tenant_id, space_id, document_id, section, part)
);
create index passage_scope on recollect.passage (tenant_id, scope_id, space_id);

-- BM25's inverted index over passages, as `posting` is over memories.
create table recollect.passage_posting (
    tenant_id text collate "C" not null,
    term text collate "C" not null,
    document_id uuid not null,
    section integer not null,
    part integer not null,
    scope_id uuid not null,
    tf smallint not null,
    dl integer not null,
    primary key (tenant_id, term, document_id, section, part) include (scope_id, tf, dl)
);
create index passage_posting_section on recollect.passage_posting (tenant_id, document_id, section);

-- Oracle ------------------------------------------------------------------------------------------

-- One consultation, or an exploration (the kind in its document) in the session of its task's name. document: the
-- record, of a consultation without the answer; result: the answer with its citations, null when it failed. documents:
-- the library documents it cites or read, by id; it goes when one of them does.
create table recollect.consultation (
    tenant_id text collate "C" not null,
    consultation_id uuid not null,
    user_id text not null,
    session text not null,
    at timestamptz not null,
    outcome text not null check (outcome in ('success', 'error')),
    documents text[] not null default '{}',
    document jsonb not null,
    result jsonb,
    primary key (tenant_id, consultation_id),
    foreign key (tenant_id) references recollect.tenant on delete cascade
);
create index consultation_at on recollect.consultation (tenant_id, at desc);
create index consultation_user on recollect.consultation (tenant_id, user_id);

-- What a consultation told while it went on, in the order of number.
create table recollect.consultation_event (
    tenant_id text collate "C" not null,
    consultation_id uuid not null,
    number integer not null,
    user_id text not null,
    at timestamptz not null,
    type text not null,
    detail jsonb not null default '{}',
    primary key (tenant_id, consultation_id, number),
    foreign key (tenant_id, consultation_id) references recollect.consultation on delete cascade
);

-- Something that a consultation missed. raised_by: planner or engine.
create table recollect.capability_request (
    tenant_id text collate "C" not null,
    request_id uuid not null,
    consultation_id uuid not null,
    user_id text not null,
    at timestamptz not null,
    raised_by text not null check (raised_by in ('planner', 'engine')),
    description text not null,
    context jsonb not null default '{}',
    workflow text,
    agent text,
    primary key (tenant_id, request_id),
    foreign key (tenant_id, consultation_id) references recollect.consultation on delete cascade
);
create index capability_request_at on recollect.capability_request (tenant_id, at desc);
create index capability_request_consultation on recollect.capability_request (tenant_id, consultation_id);

-- Over the network ----------------------------------------------------------------------------------

-- Keys of applications: who a request over the network speaks for.
-- secret: the SHA-256 of what only the holder has. context: the user, agent, roles and scopes that it speaks with.
create table recollect.api_key (
    tenant_id text collate "C" not null,
    key_id uuid not null,
    name text not null,
    secret bytea not null check (length(secret) = 32),
    context jsonb not null,
    created_by text not null,
    created_at timestamptz not null,
    expires_at timestamptz,
    revoked_at timestamptz,
    used_at timestamptz,
    primary key (tenant_id, key_id),
    foreign key (tenant_id) references recollect.tenant on delete cascade
);

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

-- Sixteen partitions by tenant: a tenant's vacuum, rewrite and vector index touch a sixteenth of the data.
do $$
declare
    partitioned text;
begin
    foreach partitioned in array array['memory', 'embedding', 'posting'] loop
        for remainder in 0 .. 15 loop
            execute format(
                'create table recollect.%I partition of recollect.%I for values with (modulus 16, remainder %s)',
                partitioned || '_' || remainder, partitioned, remainder);
        end loop;
    end loop;
end $$;

-- The planner's statistics quote values of a column. None of these helps it to plan, and all of them are what
-- people mean to erase when they delete a memory.
do $$
declare
    spoken record;
begin
    for spoken in
        select * from (values
            ('memory', 'text subject predicate object trigger action entities metadata source speaker mentions author'),
            ('embedding', 'embedding'), ('history', 'by before'), ('conversation', 'name'),
            ('entity', 'name'), ('conflict', 'reason'), ('summary', 'about'), ('ontology', 'document by'),
            ('retrieval_event', 'entities question'), ('run', 'trajectory memory_ids'),
            ('document', 'name title source tags pages gaps notes error by'), ('section', 'heading path text'),
            ('passage', 'embedding'), ('consultation', 'session documents document result'),
            ('consultation_event', 'detail'), ('capability_request', 'description context workflow agent'),
            ('api_key', 'name secret context created_by'), ('reply', 'user_id key request body'),
            ('event', 'by_user detail')) as x(name, columns)
    loop
        execute (
            select format('alter table recollect.%I ', spoken.name)
                || string_agg(format('alter column %I set statistics 0', c), ', ')
            from unnest(string_to_array(spoken.columns, ' ')) c);
    end loop;
end $$;

-- Who may see what --------------------------------------------------------------------------------

-- The caller, as this transaction says it; null when nothing was said, or something that no caller is: a claim of the
-- wrong type is not read as the nearest right one.
create function recollect.caller() returns jsonb
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

create function recollect.caller_tenant() returns text
language sql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$ select nullif(current_setting('recollect.tenant', true), '') $$;

create function recollect.caller_is_admin() returns boolean
language sql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$ select coalesce((recollect.caller() ->> 'admin')::boolean, false) $$;

-- Begin to act for a caller, until the transaction ends. On a cluster it also reads the caller's scopes, once for the
-- transaction (cluster.sql).
create function recollect.enter(tenant text, caller text) returns void
language plpgsql
set search_path = recollect, pg_catalog, pg_temp
as $$
begin
    perform set_config('recollect.tenant', enter.tenant, true), set_config('recollect.caller', enter.caller, true);
end $$;

-- The caller's scopes:
--   visible   own scopes, scopes of membership and all their ancestors, led scopes and all below them
--   writable  own scopes, scopes of membership, led scopes and all below them
--   managed   led scopes and all below them
-- Runs with its owner's rights because memberships decide what their own policies let through. It reads
-- rows of the caller's tenant only. An admin's scopes are not listed here: policies let admins pass by
-- caller_is_admin(), which costs nothing when a tenant has many scopes.
create function recollect.caller_scopes(kind text) returns uuid[]
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

-- The member who writes into a shared scope; null for its lead, for an admin, and where a scope is somebody's own.
create function recollect.author_in(scope_id uuid, layer smallint) returns text
language sql stable
set search_path = pg_catalog, pg_temp
as $$
    select case when layer >= 4 and not recollect.caller_is_admin()
        and scope_id <> all(recollect.caller_scopes('managed'))
    then coalesce(recollect.caller() ->> 'user', recollect.caller() ->> 'agent') end
$$;

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

-- Policies, generated in one place. `reads` and `writes` are conditions beside "this is the caller's
-- tenant". The owner of the schema (migrations, maintenance) keeps its access although row-level
-- security is forced; the application role never is that owner.
create procedure recollect.protect(target text, reads text, writes text)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
    mine constant text := 'tenant_id = (select recollect.caller_tenant())';
begin
    execute format('alter table recollect.%I enable row level security', target);
    execute format('alter table recollect.%I force row level security', target);
    execute format('create policy maintenance on recollect.%I to current_user using (true) with check (true)', target);
    execute format('create policy readable on recollect.%I for select to recollect_app using (%s and (%s))', target, mine, reads);
    execute format('create policy insertable on recollect.%I for insert to recollect_app with check (%s and (%s))', target, mine, writes);
    execute format('create policy updatable on recollect.%I for update to recollect_app using (%s and (%s)) with check (%s and (%s))',
                   target, mine, writes, mine, writes);
    execute format('create policy deletable on recollect.%I for delete to recollect_app using (%s and (%s))', target, mine, writes);
    execute format('grant select, insert, update, delete on recollect.%I to recollect_app', target);
end $$;

do $$
declare
    target text;
    admin constant text := '(select recollect.caller_is_admin())';
    visible constant text := admin || ' or scope_id = any((select recollect.caller_scopes(''visible''))::uuid[])';
    writable constant text := admin || ' or scope_id = any((select recollect.caller_scopes(''writable''))::uuid[])';
    managed constant text := admin || ' or scope_id = any((select recollect.caller_scopes(''managed''))::uuid[])';
    everyone constant text := ' or scope_id = ''00000000-0000-0000-0000-000000000000''::uuid';
    -- A lead makes shared scopes only: a "user/ana" made below a lead's team would hand Ana's memories to the lead.
    child constant text := admin
        || ' or (layer > 3 and parent_id = any((select recollect.caller_scopes(''managed''))::uuid[]))';
    me constant text := '(select recollect.caller() ->> ''user'')';
    agent constant text := '(select recollect.caller() ->> ''agent'')';
    session constant text := '(select recollect.caller() ->> ''session'')';
    -- Exactly what caller_scopes() calls own. An UPDATE without WHERE is not held back by the policy for reading,
    -- so a wider rule here would let a caller rename a scope it can't see into one it can.
    personal constant text := '(layer = 2 and name = ' || me || ' and owner = '''' and parent_id is null)'
        ' or (layer in (1, 3) and owner = coalesce(' || me || ', '''')'
        ' and coalesce(name = case layer when 1 then ' || agent || ' else ' || session || ' end, ' || me || ' <> '''')'
        ' and (parent_id is null or parent_id = any((select recollect.caller_scopes(''writable''))::uuid[])))';
    own constant text := admin || ' or user_id = ' || me;
    -- Who has no name still sends requests again, and is told what came of them.
    anybody constant text := '(select coalesce(recollect.caller() ->> ''user'', ''''))';
    sent constant text := admin || ' or user_id = ' || anybody;
begin
    -- A partition can be named directly, so each one is protected like its parent.
    for target in select c.relname from pg_class c
                  where c.relnamespace = 'recollect'::regnamespace and c.relispartition and c.relkind = 'r'
                  union all
                  select unnest(array['memory', 'embedding', 'posting', 'mention', 'history', 'conversation', 'tally',
                      'conflict', 'summary', 'summary_source', 'document', 'section', 'passage', 'passage_posting']) loop
        call recollect.protect(target, visible, writable);
    end loop;
    call recollect.protect('retention', 'true', admin);
    call recollect.protect('scope', visible, child || ' or ' || personal);
    call recollect.protect('membership', managed || ' or user_id = ' || me, managed);
    -- What is declared for the whole tenant is read by all of it and written by its admins.
    foreach target in array array['entity', 'entity_key'] loop
        call recollect.protect(target, visible || everyone, writable);
    end loop;
    call recollect.protect('ontology', 'true', admin);
    -- What somebody asked is between them and the admin.
    foreach target in array array['retrieval_event', 'retrieval_hit', 'feedback', 'run', 'consultation',
                                  'consultation_event', 'capability_request'] loop
        call recollect.protect(target, own, own);
    end loop;
    call recollect.protect('reply', sent, sent);
    -- Users may erase what was learned from them alone, so their own rows are theirs to write.
    call recollect.protect('policy', own || ' or user_id = ''''', own || ' and user_id <> ''''');
    call recollect.protect('experiment', 'true', admin);
    call recollect.protect('api_key', admin, admin);
    call recollect.protect('event', visible || ' or (scope_id is null and by_user = ' || anybody || ')',
        admin || ' or by_user = ' || anybody);
    -- What happened is told where the caller may write; erasing one's own words is allowed everywhere.
    foreach target in array array['insertable', 'updatable'] loop
        execute format('alter policy %I on recollect.event with check (tenant_id = (select recollect.caller_tenant())'
            ' and (%s or (by_user = %s and (scope_id is null'
            ' or scope_id = any((select recollect.caller_scopes(''writable''))::uuid[])))))', target, admin, anybody);
    end loop;
    call recollect.protect('tenant', 'true', 'false');
end $$;

-- An admin says how the own tenant's questions are routed and whether they are kept, and changes nothing else of the
-- tenant's row.
revoke update on recollect.tenant from recollect_app;
grant update (recursion_threshold, recursion_enabled, keep_questions) on recollect.tenant to recollect_app;
alter policy updatable on recollect.tenant
    using (tenant_id = (select recollect.caller_tenant()) and (select recollect.caller_is_admin()))
    with check (tenant_id = (select recollect.caller_tenant()) and (select recollect.caller_is_admin()));

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

-- Erase what searches, runs, feedback and kept answers hold of memories that are gone, whoever asked or judged. Runs with
-- its owner's rights because those rows are their users' own; it touches nothing of a memory that is still there, nor of
-- another tenant. entities: names the memories spoke of; those that nothing knows any more go from events.
--
-- Waits for whoever writes down searches at this moment (`lock_traces`), and keeps others from it until this is committed:
-- what is written later sees that the memory is gone, what was written before is seen here. To be called last.
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

-- Erase the consultations that quote a document which is gone, whoever asked. Runs with its owner's rights because
-- those rows are their users' own; it touches nothing that quotes a document which is still there.
create function recollect.forget_consultations(documents text[]) returns bigint
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

-- Who a key speaks for: nothing unless its secret is shown too. Runs with its owner's rights because whoever shows a
-- key is nobody yet; it tells them only what the key already is.
create function recollect.key_context(tenant text, key uuid, secret bytea) returns jsonb
language plpgsql security definer
set search_path = recollect, pg_catalog, pg_temp
as $$
declare
    shown record;
begin
    select k.context, k.used_at into shown from api_key k
    where k.tenant_id = key_context.tenant and k.key_id = key_context.key and k.secret = key_context.secret
        and k.revoked_at is null and (k.expires_at is null or k.expires_at > now());
    if not found then
        return null;
    end if;
    -- Once a minute: a busy key must not write a row for every request.
    if shown.used_at is null or shown.used_at < now() - interval '1 minute' then
        update api_key k set used_at = now()
        where k.tenant_id = key_context.tenant and k.key_id = key_context.key;
    end if;
    return shown.context;
end $$;

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

-- Rights beside those that protect() gives ------------------------------------------------------------

grant select on recollect.migration, recollect.store, recollect.space to recollect_app;
revoke execute on all functions in schema recollect from public;
revoke execute on all procedures in schema recollect from public;
grant execute on function recollect.enter(text, text), recollect.caller(), recollect.caller_tenant(),
    recollect.caller_is_admin(), recollect.caller_scopes(text), recollect.author_in(uuid, smallint),
    recollect.enqueue(text, text, jsonb), recollect.forget_traces(uuid[], text[]),
    recollect.forget_consultations(text[]), recollect.key_context(text, uuid, bytea) to recollect_app;
