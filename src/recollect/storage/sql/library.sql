-- name: find_documents
-- Visible documents by name or by id, those of the most specific layer first; all of them when neither is given.
select d.document_id, d.scope_id, d.layer, d.name, d.title, d.kind, d.source, d.tags, d.lines, d.tokens, d.state, d.error,
    d.gaps, d.notes, d.by, d.created_at, d.updated_at, encode(d.digest, 'hex') as digest, s.name as scope_name,
    (select count(*) from recollect.section c where c.tenant_id = %(tenant)s and c.document_id = d.document_id) as sections
from recollect.document d
join recollect.scope s on s.tenant_id = d.tenant_id and s.scope_id = d.scope_id
where d.tenant_id = %(tenant)s
    and (%(names)s::text[] is null or d.name = any(%(names)s::text[]))
    and (%(ids)s::uuid[] is null or d.document_id = any(%(ids)s::uuid[]))
    and (%(scope)s::uuid is null or d.scope_id = %(scope)s::uuid)
    and (%(tags)s::text[] is null or d.tags @> %(tags)s::text[])
    and d.name > %(after)s
order by d.name, d.layer, d.document_id
limit %(limit)s;

-- name: document_names
-- The names and titles of visible documents, to suggest close ones.
select d.name, d.title from recollect.document d where d.tenant_id = %(tenant)s order by d.name limit 20000;

-- name: lock_document
-- A document of a scope by its name, locked for a change.
select d.document_id, d.scope_id, d.digest, d.title, d.state from recollect.document d
where d.tenant_id = %(tenant)s and d.scope_id = %(scope)s and d.name = %(name)s
for update;

-- name: hold_document
-- A document that is being indexed, locked so that it is neither removed nor changed meanwhile.
select d.document_id, d.scope_id, d.title, d.state from recollect.document d
where d.tenant_id = %(tenant)s and d.document_id = %(document)s
for update;

-- name: insert_document
-- A new document; somebody else adding one of this name at the same time is not an error.
insert into recollect.document (
    tenant_id, document_id, scope_id, layer, name, title, kind, source, tags, digest, lines, tokens, pages, gaps, notes,
    state, by, created_at, updated_at)
values (
    %(tenant)s, %(document)s, %(scope)s, %(layer)s, %(name)s, %(title)s, %(kind)s, %(source)s, %(tags)s, %(digest)s,
    %(lines)s, %(tokens)s, %(pages)s, %(gaps)s, %(notes)s, 'indexing', %(by)s, %(now)s, %(now)s)
on conflict do nothing;

-- name: update_document
-- A document as it reads now.
update recollect.document set title = %(title)s, kind = %(kind)s, source = %(source)s, tags = %(tags)s,
    digest = %(digest)s, lines = %(lines)s, tokens = %(tokens)s, pages = %(pages)s, gaps = %(gaps)s, notes = %(notes)s,
    state = 'indexing', error = null, by = %(by)s, updated_at = %(now)s
where tenant_id = %(tenant)s and document_id = %(document)s;

-- name: label_document
-- Other labels of a document whose text stays; null leaves one as it is.
update recollect.document set tags = coalesce(%(tags)s, tags), source = coalesce(%(source)s, source)
where tenant_id = %(tenant)s and document_id = %(document)s
    and (tags <> coalesce(%(tags)s, tags) or source is distinct from coalesce(%(source)s, source));

-- name: set_document_state
-- How the indexing of a document stands; `ready` only when no section waits.
update recollect.document d set state = %(state)s, error = %(error)s
where d.tenant_id = %(tenant)s and d.document_id = %(document)s
    and (%(state)s <> 'ready' or not exists (select from recollect.section s
        where s.tenant_id = %(tenant)s and s.document_id = d.document_id and not s.indexed));

-- name: unready_documents
-- Documents whose indexing was begun and not finished.
select d.document_id, d.name from recollect.document d
where d.tenant_id = %(tenant)s and d.state = 'indexing'
    and (recollect.caller_is_admin() or d.scope_id = any((select recollect.caller_scopes('writable'))::uuid[]))
order by d.updated_at, d.document_id;

-- name: library_size
-- How many documents the caller sees, and their tokens.
select count(*) as documents, coalesce(sum(d.tokens), 0)::bigint as tokens from recollect.document d
where d.tenant_id = %(tenant)s;

-- name: section_digests
-- The sections of a document by what is indexed of them, in order.
select s.section, s.digest from recollect.section s
where s.tenant_id = %(tenant)s and s.document_id = %(document)s
order by s.number;

-- name: insert_sections
-- New sections of a document.
insert into recollect.section (tenant_id, document_id, section, scope_id, number, parent, level, heading, path, line_start,
    line_end, page_first, page_last, tokens, digest, indexed, text)
select %(tenant)s, %(document)s, x.section, %(scope)s, x.number, x.parent, x.level, x.heading, x.path, x.line_start,
    x.line_end, x.page_first, x.page_last, x.tokens, x.digest, x.text = '', x.text
from unnest(%(sections)s::int[], %(numbers)s::int[], %(parents)s::int[], %(levels)s::smallint[], %(headings)s::text[],
    %(paths)s::text[], %(starts)s::int[], %(ends)s::int[], %(firsts)s::int[], %(lasts)s::int[], %(tokens)s::int[],
    %(digests)s::bytea[], %(texts)s::text[])
    as x(section, number, parent, level, heading, path, line_start, line_end, page_first, page_last, tokens, digest, text);

-- name: move_sections
-- Sections whose text stayed, where they stand now.
update recollect.section s set number = x.number, parent = x.parent, level = x.level, line_start = x.line_start,
    line_end = x.line_end, page_first = x.page_first, page_last = x.page_last
from unnest(%(sections)s::int[], %(numbers)s::int[], %(parents)s::int[], %(levels)s::smallint[], %(starts)s::int[],
    %(ends)s::int[], %(firsts)s::int[], %(lasts)s::int[])
    as x(section, number, parent, level, line_start, line_end, page_first, page_last)
where s.tenant_id = %(tenant)s and s.document_id = %(document)s and s.section = x.section;

-- name: waiting_sections
-- The next sections of a document that are not indexed, as many as fit the budget of tokens; at least one.
-- done: how many of its passages are there already, when a long one was interrupted.
select x.section, x.number, x.heading, x.path, x.text, x.digest,
    (select count(*) from recollect.passage p where p.tenant_id = %(tenant)s and p.space_id = %(space)s
        and p.document_id = %(document)s and p.section = x.section) as done
from (
    select s.section, s.number, s.heading, s.path, s.text, s.digest, s.tokens,
        sum(s.tokens) over (order by s.number) as running
    from recollect.section s
    where s.tenant_id = %(tenant)s and s.document_id = %(document)s and not s.indexed and s.number > %(after)s
    order by s.number
    limit 256) x
where x.running - x.tokens < %(budget)s
order by x.number;

-- name: count_sections
-- How many sections of a document are indexed, and how many there are.
select count(*) filter (where s.indexed) as indexed, count(*) as sections from recollect.section s
where s.tenant_id = %(tenant)s and s.document_id = %(document)s;

-- name: still_waiting
-- Which of some sections still are as they were read, and not indexed.
select s.section from recollect.section s
join unnest(%(sections)s::int[], %(digests)s::bytea[]) as x(section, digest) on x.section = s.section and x.digest = s.digest
where s.tenant_id = %(tenant)s and s.document_id = %(document)s and not s.indexed;

-- name: mark_indexed
-- Sections whose passages are all there.
update recollect.section set indexed = true
where tenant_id = %(tenant)s and document_id = %(document)s and section = any(%(sections)s::int[]);

-- name: copy_passages
-- Binary COPY of passages into staging.
copy stage_passage from stdin (format binary);

-- name: copy_passage_postings
-- Binary COPY of passages' postings into staging.
copy stage_passage_posting from stdin (format binary);

-- name: insert_staged_passages
-- Store the staged passages of a document.
insert into recollect.passage (tenant_id, space_id, document_id, section, part, scope_id, line_first, line_last, terms,
    embedding)
select %(tenant)s, %(space)s, %(document)s, p.section, p.part, %(scope)s, p.line_first, p.line_last, p.terms, p.embedding
from stage_passage p
on conflict do nothing;

-- name: insert_staged_passage_postings
-- Store the staged postings of a document's passages.
insert into recollect.passage_posting (tenant_id, term, document_id, section, part, scope_id, tf, dl)
select %(tenant)s, p.term, %(document)s, p.section, p.part, %(scope)s, p.tf, p.dl
from stage_passage_posting p
on conflict do nothing;

-- name: list_sections
-- The sections of a document in order, without their text.
select s.number, s.parent, s.level, s.heading, s.path, s.line_start, s.line_end, s.page_first, s.page_last, s.tokens
from recollect.section s
where s.tenant_id = %(tenant)s and s.document_id = %(document)s
order by s.number;

-- name: document_lines
-- The sections of a document that hold some of these lines, with their text.
select s.line_start, s.line_end, s.text from recollect.section s
where s.tenant_id = %(tenant)s and s.document_id = %(document)s
    and s.line_end >= %(first)s and s.line_start <= %(last)s
order by s.number;

-- name: document_pages
-- Which lines of a document stand on which page.
select d.pages from recollect.document d where d.tenant_id = %(tenant)s and d.document_id = %(document)s;

-- name: document_texts
-- The whole text of documents.
select s.document_id, string_agg(s.text, e'\n' order by s.number) as text from recollect.section s
where s.tenant_id = %(tenant)s and s.document_id = any(%(ids)s::uuid[])
group by s.document_id;

-- name: delete_sections
-- Erase sections of a document.
delete from recollect.section
where tenant_id = %(tenant)s and document_id = %(document)s and section = any(%(sections)s::int[]);

-- name: delete_passages
-- Erase the passages of a document's sections, in all spaces.
delete from recollect.passage p using recollect.space x
where p.tenant_id = %(tenant)s and p.space_id = x.space_id and p.document_id = %(document)s
    and p.section = any(%(sections)s::int[]);

-- name: delete_passage_postings
-- Erase the postings of a document's sections.
delete from recollect.passage_posting
where tenant_id = %(tenant)s and document_id = %(document)s and section = any(%(sections)s::int[]);

-- name: documents_of
-- The documents of scopes that the caller may erase, locked.
select d.document_id, d.name from recollect.document d
where d.tenant_id = %(tenant)s and d.scope_id = any(%(scopes)s::uuid[])
for update;

-- name: erase_documents
-- Erase documents with their sections, passages and postings; how many rows of each.
with gone as (
    delete from recollect.document d where d.tenant_id = %(tenant)s and d.document_id = any(%(ids)s::uuid[])
    returning d.document_id),
sections as (
    delete from recollect.section s where s.tenant_id = %(tenant)s and s.document_id = any(%(ids)s::uuid[])
    returning 1),
passages as (
    delete from recollect.passage p using recollect.space x
    where p.tenant_id = %(tenant)s and p.space_id = x.space_id and p.document_id = any(%(ids)s::uuid[])
    returning 1),
postings as (
    delete from recollect.passage_posting t where t.tenant_id = %(tenant)s and t.document_id = any(%(ids)s::uuid[])
    returning 1)
select (select count(*) from gone) as document, (select count(*) from sections) as section,
    (select count(*) from passages) as passage, (select count(*) from postings) as passage_posting;

-- name: forget_librarian
-- Take a user's name off documents of others' scopes.
update recollect.document set by = null where tenant_id = %(tenant)s and by = %(user)s;

-- name: search_passages
-- The passages nearest to a question by meaning and by words, each with both measures; BM25 with the statistics of the
-- visible passages. matched: the terms it has, as bits in the order they were asked; df: how many have each.
with scanned as materialized (
    select p.document_id, p.section, p.part, p.terms, 1 - (p.embedding <=> %(vector)s::halfvec) as cosine
    from recollect.passage p
    where p.tenant_id = %(tenant)s and p.space_id = %(space)s
        and (%(documents)s::uuid[] is null or p.document_id = any(%(documents)s::uuid[]))),
corpus as materialized (
    select count(*)::float8 as n, greatest(avg(x.terms), 1)::float8 as avg_dl from scanned x),
posted as materialized (
    select t.place, p.document_id, p.section, p.part, p.tf, p.dl
    from unnest(%(terms)s::text[]) with ordinality as t(term, place)
    join recollect.passage_posting p on p.tenant_id = %(tenant)s and p.term = t.term collate "C"
    where %(documents)s::uuid[] is null or p.document_id = any(%(documents)s::uuid[])),
weight as materialized (
    select c.place, c.df, ln(1 + (greatest(k.n, c.df) + 99.5 - c.df) / (c.df + 1.5)) as idf
    from (select p.place, count(*)::float8 as df from posted p group by p.place) c cross join corpus k),
-- Both measures of a passage are brought together by grouping: nobody knows beforehand how many passages have a word,
-- and the planner's guess would compare each with each.
measured as materialized (
    select m.document_id, m.section, m.part, max(m.cosine) as cosine, sum(m.bm25)::float8 as bm25,
        sum(m.bit)::bigint as matched
    from (
        select x.document_id, x.section, x.part, x.cosine, null::float8 as bm25, null::bigint as bit from scanned x
        union all
        select p.document_id, p.section, p.part, null,
            w.idf * p.tf * 2.2 / (p.tf + 1.2 * (0.25 + 0.75 * p.dl / k.avg_dl)), 1::bigint << (p.place - 1)::int
        from posted p join weight w on w.place = p.place cross join corpus k) m
    group by m.document_id, m.section, m.part),
chosen as materialized (
    (select m.* from measured m where m.cosine is not null
     order by m.cosine desc, m.document_id, m.section, m.part limit %(dense_limit)s)
    union
    (select m.* from measured m where m.cosine is not null and m.bm25 is not null
     order by m.bm25 desc, m.document_id, m.section, m.part limit %(lexical_limit)s))
select c.document_id, c.section, c.part, d.tokens as document_tokens, s.number, s.path,
    s.line_start + p.line_first as line_start, s.line_start + p.line_last as line_end, p.terms, c.cosine,
    coalesce(c.bm25, 0) as bm25, coalesce(c.matched, 0) as matched, k.n::bigint as passages,
    array_to_string((string_to_array(s.text, e'\n'))[p.line_first + 1 : p.line_last + 1], e'\n') as text,
    array(select coalesce(f.df, 0)::bigint from generate_series(1, cardinality(%(terms)s::text[])) g(place)
        left join weight f on f.place = g.place order by g.place) as df
from chosen c
join recollect.passage p on p.tenant_id = %(tenant)s and p.space_id = %(space)s and p.document_id = c.document_id
    and p.section = c.section and p.part = c.part
-- With the scope: a passage belongs to the section of its own scope.
join recollect.section s on s.tenant_id = %(tenant)s and s.document_id = p.document_id and s.section = p.section
    and s.scope_id = p.scope_id
join recollect.document d on d.tenant_id = s.tenant_id and d.document_id = s.document_id and d.scope_id = s.scope_id
cross join corpus k
order by c.document_id, s.number, c.part;

-- name: sections_to_show
-- Sections with their text and what their documents are called. is_nearest: no document of a nearer layer has the name.
select s.document_id, s.section, s.number, s.heading, s.path, s.line_start, s.line_end, s.page_first, s.page_last, s.text,
    d.name, d.title, d.pages, d.state, d.layer,
    not exists (select from recollect.document n where n.tenant_id = d.tenant_id and n.name = d.name
        and (n.layer, n.document_id) < (d.layer, d.document_id)) as is_nearest
from unnest(%(ids)s::uuid[], %(sections)s::int[]) as x(document_id, section)
join recollect.section s on s.tenant_id = %(tenant)s and s.document_id = x.document_id and s.section = x.section
join recollect.document d on d.tenant_id = s.tenant_id and d.document_id = s.document_id and d.scope_id = s.scope_id;

-- name: missing_passages
-- Passages of the space that is searched which another space lacks, with the text they are cut from.
select p.document_id, p.section, p.part, p.scope_id, p.line_first, p.line_last, p.terms, s.heading, s.path, s.text, d.title
from recollect.passage p
join recollect.section s on s.tenant_id = p.tenant_id and s.document_id = p.document_id and s.section = p.section
join recollect.document d on d.tenant_id = p.tenant_id and d.document_id = p.document_id
where p.tenant_id = %(tenant)s and p.space_id = %(from_space)s
    and not exists (select from recollect.passage n where n.tenant_id = %(tenant)s and n.space_id = %(space)s
        and n.document_id = p.document_id and n.section = p.section and n.part = p.part)
order by p.document_id, p.section, p.part
limit %(limit)s;

-- name: insert_passages
-- Passages in another space, of sections that are still there.
insert into recollect.passage (tenant_id, space_id, document_id, section, part, scope_id, line_first, line_last, terms,
    embedding)
select %(tenant)s, %(space)s, p.document_id, p.section, p.part, p.scope_id, p.line_first, p.line_last, p.terms, x.embedding
from unnest(%(ids)s::uuid[], %(sections)s::int[], %(parts)s::int[], %(embeddings)s::halfvec[])
    as x(document_id, section, part, embedding)
join recollect.passage p on p.tenant_id = %(tenant)s and p.space_id = %(from_space)s and p.document_id = x.document_id
    and p.section = x.section and p.part = x.part
on conflict do nothing;

-- name: delete_space_passages
-- Drop a tenant's passages of a retired space.
delete from recollect.passage where tenant_id = %(tenant)s and space_id = %(space)s;
