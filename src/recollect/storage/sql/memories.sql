-- name: create_staging
-- Where COPY lands: COPY can't write through row-level security, so rows come here and are inserted from here.
-- Made when a session writes for the first time.
create temporary table if not exists stage_memory (
    scope_id uuid, memory_id uuid, layer smallint, type text, text text, digest bytea, subject text, predicate text,
    object text, trigger text, action text, entities text[], importance double precision, use_count integer, utility double precision,
    metadata jsonb, source text, conversation_id uuid, position integer, speaker text, created_at timestamptz,
    valid_from timestamptz, valid_to timestamptz, expires_at timestamptz, superseded_by uuid,
    superseded_at timestamptz, version_of uuid, since timestamptz, until timestamptz, updated_at timestamptz,
    mentions text[]
) on commit delete rows;
create temporary table if not exists stage_embedding (
    space_id smallint, memory_id uuid, part smallint, embedding public.halfvec
) on commit delete rows;
-- A row for each memory: its terms and how often each stands there, both separated by spaces, which no term has.
create temporary table if not exists stage_posting (
    memory_id uuid, terms text, tfs text, dl integer
) on commit delete rows;
create temporary table if not exists stage_passage (
    section integer, part integer, line_first integer, line_last integer, terms integer, embedding public.halfvec
) on commit delete rows;
create temporary table if not exists stage_passage_posting (
    term text, section integer, part integer, tf smallint, dl integer
) on commit delete rows;

-- name: copy_memories
-- Binary COPY of memories into staging.
copy stage_memory from stdin (format binary);

-- name: copy_embeddings
-- Binary COPY of vectors into staging.
copy stage_embedding from stdin (format binary);

-- name: copy_postings
-- Binary COPY of postings into staging.
copy stage_posting from stdin (format binary);

-- name: insert_staged_memories
-- Store staged memories; a repeat of an active text in its scope is left for reinforcement.
-- Ordered, so that two writers of the same texts wait for each other instead of blocking each other.
insert into recollect.memory (
    tenant_id, scope_id, memory_id, layer, type, text, digest, subject, predicate, object, trigger, action, entities,
    importance, use_count, utility, metadata, source, conversation_id, position, speaker, created_at, valid_from,
    valid_to, expires_at, superseded_by, superseded_at, version_of, since, until, updated_at, mentions, author)
select %(tenant)s, s.scope_id, s.memory_id, s.layer, s.type, s.text, s.digest, s.subject, s.predicate, s.object,
    s.trigger, s.action, s.entities, s.importance, s.use_count, s.utility, s.metadata, s.source, s.conversation_id,
    s.position, s.speaker, s.created_at, s.valid_from, s.valid_to, s.expires_at, s.superseded_by, s.superseded_at,
    s.version_of, s.since, s.until, s.updated_at, s.mentions, w.author
from stage_memory s
join (select x.scope_id, recollect.author_in(x.scope_id, x.layer) as author
    from (select distinct scope_id, layer from stage_memory) x) w on w.scope_id = s.scope_id
order by s.scope_id, s.digest, s.memory_id
on conflict do nothing
returning memory_id;

-- name: insert_memory
-- Store one memory; a repeat of an active text in its scope is left for reinforcement.
insert into recollect.memory (
    tenant_id, scope_id, memory_id, layer, type, text, digest, subject, predicate, object, trigger, action, entities,
    importance, use_count, utility, metadata, source, conversation_id, position, speaker, created_at, valid_from,
    valid_to, expires_at, superseded_by, superseded_at, version_of, since, until, updated_at, mentions, author)
values (%(tenant)s, %(scope_id)s, %(memory_id)s, %(layer)s, %(type)s, %(text)s, %(digest)s, %(subject)s, %(predicate)s,
    %(object)s, %(trigger)s, %(action)s, %(entities)s, %(importance)s, %(use_count)s, %(utility)s, %(metadata)s,
    %(source)s, %(conversation_id)s, %(position)s, %(speaker)s, %(created_at)s, %(valid_from)s, %(valid_to)s,
    %(expires_at)s, %(superseded_by)s, %(superseded_at)s, %(version_of)s, %(since)s, %(until)s, %(updated_at)s,
    %(mentions)s, recollect.author_in(%(scope_id)s::uuid, %(layer)s::smallint))
on conflict do nothing
returning memory_id;

-- name: insert_staged_embeddings
-- Store the staged vectors of memories that were really inserted.
insert into recollect.embedding (tenant_id, space_id, memory_id, part, scope_id, since, until, embedding)
select %(tenant)s, e.space_id, e.memory_id, e.part, s.scope_id, s.since, s.until, e.embedding
from stage_embedding e
join stage_memory s on s.memory_id = e.memory_id
where e.memory_id = any(%(ids)s::uuid[])
on conflict do nothing;

-- name: insert_staged_postings
-- Store the staged postings of memories that were really inserted.
insert into recollect.posting (tenant_id, term, memory_id, scope_id, tf, dl)
select %(tenant)s, x.term, p.memory_id, s.scope_id, x.tf, p.dl
from stage_posting p
join stage_memory s on s.memory_id = p.memory_id
cross join lateral unnest(string_to_array(p.terms, ' '), string_to_array(p.tfs, ' ')::smallint[]) as x(term, tf)
where p.memory_id = any(%(ids)s::uuid[]);

-- name: bump_tallies
-- Add to the counts of scopes, in the order of their ids so that concurrent writers can't deadlock.
insert into recollect.tally (tenant_id, scope_id, memories, vectors, terms)
select %(tenant)s, x.scope_id, x.memories, x.vectors, x.terms
from unnest(%(scopes)s::uuid[], %(memories)s::bigint[], %(vectors)s::bigint[], %(terms)s::bigint[])
    as x(scope_id, memories, vectors, terms)
order by x.scope_id
on conflict (tenant_id, scope_id) do update set memories = recollect.tally.memories + excluded.memories,
    vectors = recollect.tally.vectors + excluded.vectors, terms = recollect.tally.terms + excluded.terms;

-- name: find_repeats
-- Active memories with one of these texts in one of these scopes, outside conversations.
select m.memory_id, m.scope_id, m.digest
from recollect.memory m
join unnest(%(scopes)s::uuid[], %(digests)s::bytea[]) as x(scope_id, digest)
    on m.scope_id = x.scope_id and m.digest = x.digest
where m.tenant_id = %(tenant)s and m.conversation_id is null and m.superseded_at is null;

-- name: reinforce
-- A repeat strengthens the memory it repeats: used once more, metadata and entities joined, an expired one revived.
-- What a lead or an admin answers for gets no more important by a member's saying so.
with before as (
    select b.use_count, b.importance, b.metadata, b.entities, b.created_at, b.expires_at, b.until
    from recollect.memory b where b.tenant_id = %(tenant)s and b.memory_id = %(id)s
    for update),
after as (update recollect.memory m set
    use_count = m.use_count + %(times)s,
    importance = case when m.author is null and recollect.author_in(m.scope_id, m.layer) is not null then m.importance
        else greatest(m.importance, %(importance)s) end,
    metadata = m.metadata || %(metadata)s::jsonb,
    entities = m.entities || array(select e from unnest(%(entities)s::text[]) e where e <> all(m.entities)),
    created_at = case when m.until <= %(now)s then %(created_at)s else m.created_at end,
    expires_at = case when m.until <= %(now)s then %(expires_at)s else m.expires_at end,
    until = case when m.until <= %(now)s then %(until)s else m.until end,
    updated_at = %(now)s
from before
where m.tenant_id = %(tenant)s and m.memory_id = %(id)s
returning m.memory_id, m.scope_id, m.use_count, m.importance, m.metadata, m.entities, m.created_at, m.expires_at)
select after.memory_id, after.scope_id, before.until <= %(now)s as revived,
    jsonb_build_object('use_count', before.use_count, 'importance', before.importance, 'metadata', before.metadata,
        'entities', before.entities, 'created_at', before.created_at, 'expires_at', before.expires_at) as before,
    jsonb_build_object('use_count', after.use_count, 'importance', after.importance, 'metadata', after.metadata,
        'entities', after.entities, 'created_at', after.created_at, 'expires_at', after.expires_at) as after
from before cross join after;

-- name: take_positions
-- The next positions in a conversation, making it on its first turn; the row's lock keeps turns in order.
insert into recollect.conversation (tenant_id, conversation_id, scope_id, name, turns)
values (%(tenant)s, %(id)s, %(scope)s, %(name)s, %(at_least)s::int + %(turns)s::int)
on conflict (tenant_id, scope_id, name)
    do update set turns = greatest(recollect.conversation.turns, %(at_least)s::int) + %(turns)s::int
returning conversation_id, turns;

-- name: select_memories
-- Memories by id.
select {columns} from recollect.memory m
join recollect.scope s on s.tenant_id = m.tenant_id and s.scope_id = m.scope_id
left join recollect.conversation c on c.tenant_id = m.tenant_id and c.conversation_id = m.conversation_id
where m.tenant_id = %(tenant)s and m.memory_id = any(%(ids)s::uuid[]);

-- name: list_memories
-- One keyset page of memories, the newest or the oldest first.
select {columns} from recollect.memory m
join recollect.scope s on s.tenant_id = m.tenant_id and s.scope_id = m.scope_id
left join recollect.conversation c on c.tenant_id = m.tenant_id and c.conversation_id = m.conversation_id
where m.tenant_id = %(tenant)s
    and (%(scopes)s::uuid[] is null or m.scope_id = any(%(scopes)s::uuid[]))
    and {where}
    and (%(after_at)s::timestamptz is null or (m.created_at, m.memory_id) {after} (%(after_at)s::timestamptz, %(after_id)s::uuid))
order by {order}
limit %(limit)s;

-- name: memories_size
-- The characters of what the caller sees and is believed.
select coalesce(sum(length(m.text)), 0)::bigint as chars from recollect.memory m
where m.tenant_id = %(tenant)s and m.superseded_at is null and m.until > %(now)s;

-- name: count_matching
-- How many memories meet a condition.
select count(*) as memories from recollect.memory m
join recollect.scope s on s.tenant_id = m.tenant_id and s.scope_id = m.scope_id
left join recollect.conversation c on c.tenant_id = m.tenant_id and c.conversation_id = m.conversation_id
where m.tenant_id = %(tenant)s
    and (%(scopes)s::uuid[] is null or m.scope_id = any(%(scopes)s::uuid[]))
    and {where};

-- name: match_memories
-- The ids of memories that meet a condition and that the caller may change, a batch at a time.
select m.memory_id from recollect.memory m
where m.tenant_id = %(tenant)s
    and (%(scopes)s::uuid[] is null or m.scope_id = any(%(scopes)s::uuid[]))
    and {where}
    and (recollect.caller_is_admin() or m.scope_id = any((select recollect.caller_scopes('writable'))::uuid[]))
limit %(limit)s;

-- name: lock_memory
-- One memory for changing; no row when it is not visible or not writable.
select {columns}, m.scope_id, m.digest, m.since, m.until, m.conversation_id, m.version_of
from recollect.memory m
join recollect.scope s on s.tenant_id = m.tenant_id and s.scope_id = m.scope_id
left join recollect.conversation c on c.tenant_id = m.tenant_id and c.conversation_id = m.conversation_id
where m.tenant_id = %(tenant)s and m.memory_id = %(id)s
for update of m;

-- name: update_memory
-- Change the given columns of one memory; who changes what it says or how much it counts answers for it.
update recollect.memory set {assignments}, updated_at = %(now)s,
    author = case when %(told)s then recollect.author_in(scope_id, layer) else author end
where tenant_id = %(tenant)s and memory_id = %(id)s
returning memory_id;

-- name: lock_superseding
-- Let one transaction of a tenant at a time supersede.
select pg_advisory_xact_lock(hashtextextended('recollect.supersede:' || %(tenant)s, 0));

-- name: insert_history
-- Record a change.
insert into recollect.history (tenant_id, history_id, memory_id, scope_id, event, at, by, before)
values (%(tenant)s, %(history_id)s, %(id)s, %(scope)s, %(event)s, %(at)s, %(by)s, %(before)s);

-- name: list_history
-- The changes of one memory, oldest first.
select h.memory_id, h.event, h.at, h.by, h.before from recollect.history h
join recollect.memory m on m.tenant_id = h.tenant_id and m.memory_id = h.memory_id and m.scope_id = h.scope_id
where h.tenant_id = %(tenant)s and h.memory_id = %(id)s
order by h.history_id;

-- name: lock_memories
-- Hold memories until the transaction ends, in the order of their ids, so that nothing is added to them meanwhile.
select m.memory_id from recollect.memory m
where m.tenant_id = %(tenant)s and m.memory_id = any(%(ids)s::uuid[])
order by m.memory_id
for update;

-- name: delete_postings
-- Take memories out of the lexical index.
delete from recollect.posting where tenant_id = %(tenant)s and memory_id = any(%(ids)s::uuid[]);

-- name: delete_embeddings
-- Take memories out of the vector index.
delete from recollect.embedding where tenant_id = %(tenant)s and memory_id = any(%(ids)s::uuid[]);

-- name: tally_of_memories
-- What the given memories count for in their scopes.
select m.scope_id, count(*) as memories, coalesce(sum(v.vectors), 0)::bigint as vectors, coalesce(sum(p.terms), 0)::bigint as terms
from recollect.memory m
left join lateral (select count(*) as vectors from recollect.embedding e
    where e.tenant_id = %(tenant)s and e.memory_id = m.memory_id
        and e.space_id = (select x.space_id from recollect.space x where x.state = 'active')) v on true
left join lateral (select max(p.dl) as terms from recollect.posting p
    where p.tenant_id = %(tenant)s and p.memory_id = m.memory_id) p on true
where m.tenant_id = %(tenant)s and m.memory_id = any(%(ids)s::uuid[])
group by m.scope_id;

-- name: versions_of
-- The rows that hold what these memories said before they were updated.
select m.memory_id from recollect.memory m
where m.tenant_id = %(tenant)s and m.version_of = any(%(ids)s::uuid[]);

-- name: forget_superseding
-- Memories superseded by an erased one stay retired, but no longer point to it.
update recollect.memory set superseded_by = null
where tenant_id = %(tenant)s and superseded_by = any(%(ids)s::uuid[]);

-- name: forget_restored
-- Histories of memories that came back say by what they had been superseded; erased ids go from there, too.
update recollect.history set before = before - 'superseded_by'
where tenant_id = %(tenant)s and event = 'restored' and before ->> 'superseded_by' = any(%(texts)s::text[]);

-- name: forget_former
-- Where a former version is erased but its memory stays, its history forgets what the version said.
update recollect.history h set before = null
from recollect.memory v
where v.tenant_id = %(tenant)s and v.memory_id = any(%(ids)s::uuid[]) and v.version_of is not null
    and h.tenant_id = %(tenant)s and h.memory_id = v.version_of and h.event = 'updated' and h.at = v.superseded_at;

-- name: delete_history
-- Erase the changes of memories.
delete from recollect.history where tenant_id = %(tenant)s and memory_id = any(%(ids)s::uuid[]);

-- name: delete_memories
-- Erase memories.
delete from recollect.memory where tenant_id = %(tenant)s and memory_id = any(%(ids)s::uuid[])
returning memory_id, conversation_id, scope_id, speaker;

-- name: lock_conversations
-- Hold conversations, so that nobody adds a turn while they are looked at.
select c.conversation_id from recollect.conversation c
where c.tenant_id = %(tenant)s and c.conversation_id = any(%(ids)s::uuid[])
order by c.conversation_id
for update;

-- name: delete_conversations
-- Erase conversations that have no turn left.
delete from recollect.conversation c
where c.tenant_id = %(tenant)s and c.conversation_id = any(%(ids)s::uuid[])
    and not exists (select from recollect.memory m
        where m.tenant_id = %(tenant)s and m.conversation_id = c.conversation_id);

-- name: archive_memory
-- Copy a memory as it is into a superseded version of itself.
insert into recollect.memory (
    tenant_id, scope_id, memory_id, layer, type, text, digest, subject, predicate, object, trigger, action, entities,
    importance, use_count, utility, metadata, source, conversation_id, position, speaker, created_at, valid_from,
    valid_to, expires_at, superseded_by, superseded_at, version_of, since, until, updated_at, mentions, author)
select m.tenant_id, m.scope_id, %(archived)s, m.layer, m.type, m.text, m.digest, m.subject, m.predicate, m.object,
    m.trigger, m.action, m.entities, m.importance, m.use_count, m.utility, m.metadata, m.source, null, null, m.speaker,
    m.created_at, m.valid_from, m.valid_to, m.expires_at, m.memory_id, %(at)s, m.memory_id, m.since,
    least(m.until, %(at)s), m.updated_at, m.mentions, m.author
from recollect.memory m where m.tenant_id = %(tenant)s and m.memory_id = %(id)s;

-- name: move_embeddings
-- The vectors of a memory's former text go with its version.
update recollect.embedding set memory_id = %(archived)s, until = least(until, %(at)s)
where tenant_id = %(tenant)s and memory_id = %(id)s;

-- name: move_postings
-- The postings of a memory's former text go with its version.
update recollect.posting set memory_id = %(archived)s
where tenant_id = %(tenant)s and memory_id = %(id)s;

-- name: insert_postings_of
-- Store the postings of one memory.
insert into recollect.posting (tenant_id, term, memory_id, scope_id, tf, dl)
select %(tenant)s, x.term, %(id)s, %(scope)s, x.tf, %(length)s
from unnest(%(terms)s::text[], %(tfs)s::smallint[]) as x(term, tf);

-- name: delete_conversations_of
-- Erase the conversations of scopes whose memories are gone.
delete from recollect.conversation where tenant_id = %(tenant)s and scope_id = any(%(scopes)s::uuid[]);

-- name: delete_tallies_of
-- Erase the counts of scopes.
delete from recollect.tally where tenant_id = %(tenant)s and scope_id = any(%(scopes)s::uuid[]);

-- name: delete_members_of
-- End every membership in scopes.
delete from recollect.membership where tenant_id = %(tenant)s and scope_id = any(%(scopes)s::uuid[]);

-- name: forget_author
-- Take a user's name out of the history of what stays.
update recollect.history set by = null where tenant_id = %(tenant)s and by = %(user)s;

-- name: forget_member
-- Take a user's name from what they told shared scopes.
update recollect.memory set author = null where tenant_id = %(tenant)s and author = %(user)s;

-- name: export_memories
-- Memories with all that is known of them.
select {columns}, m.since, m.version_of,
    (select jsonb_agg(jsonb_build_object('id', h.history_id, 'event', h.event, 'at', h.at, 'by', h.by, 'before', h.before)
        order by h.history_id)
     from recollect.history h
     where h.tenant_id = %(tenant)s and h.memory_id = m.memory_id and h.scope_id = m.scope_id) as history
from recollect.memory m
join recollect.scope s on s.tenant_id = m.tenant_id and s.scope_id = m.scope_id
left join recollect.conversation c on c.tenant_id = m.tenant_id and c.conversation_id = m.conversation_id
where m.tenant_id = %(tenant)s and m.memory_id = any(%(ids)s::uuid[]);

-- name: import_history
-- A line of history as an export wrote it, for a memory that is there; importing it twice keeps one.
insert into recollect.history (tenant_id, history_id, memory_id, scope_id, event, at, by, before)
select %(tenant)s, %(history_id)s, m.memory_id, m.scope_id, %(event)s, %(at)s, %(by)s, %(before)s::jsonb
from recollect.memory m where m.tenant_id = %(tenant)s and m.memory_id = %(id)s
on conflict (tenant_id, history_id) do nothing;
