-- The knowledge library: documents, their sections, and the passages that are searched.

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

alter table recollect.document
    alter column name set statistics 0, alter column title set statistics 0, alter column source set statistics 0,
    alter column tags set statistics 0, alter column pages set statistics 0, alter column gaps set statistics 0,
    alter column notes set statistics 0, alter column error set statistics 0, alter column by set statistics 0;
alter table recollect.section
    alter column heading set statistics 0, alter column path set statistics 0, alter column text set statistics 0;
alter table recollect.passage alter column embedding set statistics 0;

do $$
declare
    target text;
    admin constant text := '(select recollect.caller_is_admin())';
    visible constant text := admin || ' or scope_id = any((select recollect.caller_scopes(''visible''))::uuid[])';
    writable constant text := admin || ' or scope_id = any((select recollect.caller_scopes(''writable''))::uuid[])';
begin
    foreach target in array array['document', 'section', 'passage', 'passage_posting'] loop
        call recollect.protect(target, visible, writable);
    end loop;
end $$;
