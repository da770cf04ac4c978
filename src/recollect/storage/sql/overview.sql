-- name: count_memories
-- Memories that hold now, by layer and type, as far as the caller may see them.
select m.layer, m.type, count(*)::int as memories
from recollect.memory m
where m.tenant_id = %(tenant)s and m.until > %(now)s::timestamptz and m.since <= %(now)s::timestamptz
group by m.layer, m.type
order by m.layer, m.type;

-- name: count_documents
-- Documents that the caller may read.
select count(*)::int as documents from recollect.document d where d.tenant_id = %(tenant)s;

-- name: searches_by_minute
-- Searches since a moment, by minute, the oldest first.
select date_trunc('minute', e.at) as at, count(*)::int as searches,
    percentile_cont(0.5) within group (order by e.latency_ms)::float8 as p50_ms,
    percentile_cont(0.95) within group (order by e.latency_ms)::float8 as p95_ms
from recollect.retrieval_event e
where e.tenant_id = %(tenant)s and e.at > %(since)s
group by 1
order by 1;

-- name: searches_in_all
-- Searches since a moment, and what they took.
select count(*)::int as searches,
    percentile_cont(0.5) within group (order by e.latency_ms)::float8 as p50_ms,
    percentile_cont(0.95) within group (order by e.latency_ms)::float8 as p95_ms,
    percentile_cont(0.99) within group (order by e.latency_ms)::float8 as p99_ms
from recollect.retrieval_event e
where e.tenant_id = %(tenant)s and e.at > %(since)s;

-- name: runs_in_all
-- Searches since a moment that were decomposed, their tool calls, and those that a cache answered.
select count(*) filter (where r.query_id is not null)::int as decomposed,
    coalesce(sum(r.subcalls), 0)::int as subcalls,
    coalesce(sum((r.trajectory -> 'usage' ->> 'cached_subcalls')::int), 0)::int as cached_calls
from recollect.run r
where r.tenant_id = %(tenant)s and r.environment = 'memory' and r.started_at > %(since)s;

-- name: consultations_in_all
-- Consultations since a moment, their tool calls, and those that a cache answered.
select count(distinct c.consultation_id)::int as consultations,
    count(*) filter (where e.type = 'oracle_rlm_tool_call')::int as tool_calls,
    count(*) filter (where e.type = 'oracle_rlm_tool_call' and (e.detail ->> 'cached')::boolean)::int as cached_calls
from recollect.consultation c
left join recollect.consultation_event e on e.tenant_id = c.tenant_id and e.consultation_id = c.consultation_id
where c.tenant_id = %(tenant)s and c.at > %(since)s and c.document ->> 'kind' is distinct from 'exploration';
