-- name: summary_scopes
-- The scopes whose memories the caller may summarise: those it may write to.
select s.scope_id, s.layer, s.name, s.owner from recollect.scope s
where s.tenant_id = %(tenant)s
    and (%(scope)s::uuid is null or s.scope_id = %(scope)s::uuid)
    and (recollect.caller_is_admin() or s.scope_id = any((select recollect.caller_scopes('writable'))::uuid[]))
order by s.layer, s.name, s.owner, s.scope_id;

-- name: session_targets
-- Conversations with enough turns, each with a digest of all that a summary of it would look at.
select m.scope_id, c.name as about, c.name as title, count(*) as memories,
    sha256(string_agg(uuid_send(m.memory_id) || m.digest, ''::bytea order by m.memory_id)) as inputs
from recollect.memory m
join recollect.conversation c on c.tenant_id = m.tenant_id and c.conversation_id = m.conversation_id
where m.tenant_id = %(tenant)s and m.scope_id = any(%(scopes)s::uuid[]) and m.type <> 'summary'
    and m.since <= %(now)s and m.until > %(now)s
    and (%(about)s::text is null or c.name = %(about)s::text)
group by m.scope_id, c.name
having count(*) >= %(least)s
order by m.scope_id, c.name;

-- name: scope_targets
-- Scopes with enough memories, each with a digest of all that a summary of it would look at.
select m.scope_id, '' as about, '' as title, count(*) as memories,
    sha256(string_agg(uuid_send(m.memory_id) || m.digest, ''::bytea order by m.memory_id)) as inputs
from recollect.memory m
where m.tenant_id = %(tenant)s and m.scope_id = any(%(scopes)s::uuid[]) and m.type <> 'summary'
    and m.since <= %(now)s and m.until > %(now)s
group by m.scope_id
having count(*) >= %(least)s
order by m.scope_id;

-- name: entity_targets
-- Entities with enough memories in a scope, the most spoken of first: those that name them, and what they said.
with named as (
    select e.scope_id, e.entity, e.name from recollect.entity e
    where e.tenant_id = %(tenant)s and e.scope_id = any(%(scopes)s::uuid[])
        and (%(about)s::text is null or e.entity = %(about)s::text)),
linked as (
    select n.scope_id, n.entity, n.name, x.memory_id from named n
    join recollect.mention x on x.tenant_id = %(tenant)s and x.entity = n.entity and x.scope_id = n.scope_id
    union
    select n.scope_id, n.entity, n.name, m.memory_id from named n
    join recollect.memory m on m.tenant_id = %(tenant)s and m.scope_id = n.scope_id and lower(m.speaker) = n.entity)
select l.scope_id, l.entity as about, l.name as title, count(*) as memories,
    sha256(string_agg(uuid_send(m.memory_id) || m.digest, ''::bytea order by m.memory_id)) as inputs
from linked l
join recollect.memory m on m.tenant_id = %(tenant)s and m.memory_id = l.memory_id and m.scope_id = l.scope_id
where m.tenant_id = %(tenant)s and m.type <> 'summary' and m.since <= %(now)s and m.until > %(now)s
group by l.scope_id, l.entity, l.name
having count(*) >= %(least)s
order by count(*) desc, l.entity, l.scope_id;

-- name: session_inputs
-- The turns of one conversation.
select m.memory_id, m.text, m.digest, m.speaker, coalesce(m.valid_from, m.created_at) as at, m.importance, m.until,
    true as turn
from recollect.memory m
join recollect.conversation c on c.tenant_id = m.tenant_id and c.conversation_id = m.conversation_id
where m.tenant_id = %(tenant)s and c.tenant_id = %(tenant)s and c.scope_id = %(scope)s and c.name = %(about)s
    and m.scope_id = %(scope)s and m.type <> 'summary' and m.since <= %(now)s and m.until > %(now)s
order by m.position desc, m.memory_id desc
limit %(limit)s;

-- name: scope_inputs
-- The memories of one scope, the newest first.
select m.memory_id, m.text, m.digest, m.speaker, coalesce(m.valid_from, m.created_at) as at, m.importance, m.until,
    m.conversation_id is not null as turn
from recollect.memory m
where m.tenant_id = %(tenant)s and m.scope_id = %(scope)s and %(about)s::text = ''
    and m.type <> 'summary' and m.since <= %(now)s and m.until > %(now)s
order by m.created_at desc, m.position desc nulls last, m.memory_id desc
limit %(limit)s;

-- name: entity_inputs
-- The memories of one scope that name an entity or were said by it, the newest first.
select m.memory_id, m.text, m.digest, m.speaker, coalesce(m.valid_from, m.created_at) as at, m.importance, m.until,
    m.conversation_id is not null as turn
from recollect.memory m
where m.tenant_id = %(tenant)s and m.scope_id = %(scope)s
    and m.type <> 'summary' and m.since <= %(now)s and m.until > %(now)s
    and (lower(m.speaker) = %(about)s or exists (select from recollect.mention x
        where x.tenant_id = %(tenant)s and x.entity = %(about)s and x.memory_id = m.memory_id))
order by m.created_at desc, m.position desc nulls last, m.memory_id desc
limit %(limit)s;

-- name: list_summaries
-- The summaries there are in some scopes.
select y.memory_id, y.scope_id, y.kind, y.about, y.inputs, y.stale, y.model from recollect.summary y
where y.tenant_id = %(tenant)s and y.scope_id = any(%(scopes)s::uuid[]) and y.kind = any(%(kinds)s::text[])
    and (%(abouts)s::text[] is null or y.about = any(%(abouts)s::text[]))
order by y.scope_id, y.kind, y.about;

-- name: lock_summary
-- Let one transaction at a time make the summary of one thing.
select pg_advisory_xact_lock(
    hashtextextended(concat_ws(':', 'recollect.summary', %(tenant)s::text, %(scope)s::text, %(kind)s::text, %(about)s::text), 0));

-- name: find_summary
-- The summary of one thing, if there is one.
select y.memory_id, y.inputs, y.stale from recollect.summary y
where y.tenant_id = %(tenant)s and y.scope_id = %(scope)s and y.kind = %(kind)s and y.about = %(about)s;

-- name: share_sources
-- Hold the memories a summary quotes as they are until it is stored; one that is gone by now is not returned.
select m.memory_id, m.digest from recollect.memory m
where m.tenant_id = %(tenant)s and m.memory_id = any(%(ids)s::uuid[]) and m.scope_id = %(scope)s
    and m.since <= %(now)s and m.until > %(now)s
order by m.memory_id
for share;

-- name: store_summary
-- Write down what a memory is a summary of.
insert into recollect.summary (tenant_id, memory_id, scope_id, kind, about, made_at, model, stale, inputs)
values (%(tenant)s, %(id)s, %(scope)s, %(kind)s, %(about)s, %(now)s, %(model)s, %(stale)s, %(inputs)s)
on conflict (tenant_id, memory_id) do update set made_at = excluded.made_at, model = excluded.model,
    stale = excluded.stale, inputs = excluded.inputs;

-- name: insert_sources
-- Link a summary with the memories it came from.
insert into recollect.summary_source (tenant_id, summary_id, memory_id, scope_id, digest)
select %(tenant)s, %(id)s, x.memory_id, %(scope)s, x.digest
from unnest(%(ids)s::uuid[], %(digests)s::bytea[]) as x(memory_id, digest);

-- name: delete_sources
-- Unlink summaries from the memories they came from.
delete from recollect.summary_source where tenant_id = %(tenant)s and summary_id = any(%(ids)s::uuid[]);

-- name: delete_summaries
-- Forget that memories are summaries.
delete from recollect.summary where tenant_id = %(tenant)s and memory_id = any(%(ids)s::uuid[]);

-- name: summaries_citing
-- The summaries that came from any of these memories, or from what one of them said before it was changed.
select distinct y.memory_id, y.scope_id, y.kind, y.about
from recollect.summary_source x
join recollect.summary y on y.tenant_id = x.tenant_id and y.memory_id = x.summary_id
where x.tenant_id = %(tenant)s and (x.memory_id = any(%(ids)s::uuid[])
    or x.memory_id = any(array(select m.version_of from recollect.memory m
        where m.tenant_id = %(tenant)s and m.memory_id = any(%(ids)s::uuid[]) and m.version_of is not null)))
order by y.memory_id;

-- name: adopt_summaries
-- Imported memories that say of what they are a summary are one again, to be made anew at the next occasion.
insert into recollect.summary (tenant_id, memory_id, scope_id, kind, about, made_at, stale)
select %(tenant)s, m.memory_id, m.scope_id, m.metadata -> 'summary' ->> 'kind',
    coalesce(m.metadata -> 'summary' ->> 'about', ''), m.created_at, true
from recollect.memory m
where m.tenant_id = %(tenant)s and m.memory_id = any(%(ids)s::uuid[]) and m.type = 'summary'
    and m.superseded_at is null and m.metadata -> 'summary' ->> 'kind' in ('session', 'scope', 'entity')
on conflict do nothing;

-- name: adopt_sources
-- The sources that imported summaries name.
insert into recollect.summary_source (tenant_id, summary_id, memory_id, scope_id, digest)
select distinct %(tenant)s, m.memory_id, x.id::uuid, m.scope_id, ''::bytea
from recollect.memory m
join recollect.summary y on y.tenant_id = m.tenant_id and y.memory_id = m.memory_id
cross join lateral jsonb_array_elements_text(
    case jsonb_typeof(m.metadata -> 'sources') when 'array' then m.metadata -> 'sources' else '[]' end) as x(id)
where m.tenant_id = %(tenant)s and y.tenant_id = %(tenant)s and m.memory_id = any(%(ids)s::uuid[])
    and x.id like '________-____-____-____-____________' and length(replace(x.id, '-', '')) = 32
    and translate(x.id, '0123456789abcdef-', '') = ''
on conflict do nothing;
