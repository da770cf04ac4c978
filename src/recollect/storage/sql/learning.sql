-- name: store_identity
-- The id of this store; hashes of query terms are keyed with it.
select s.store_id from recollect.store s;

-- name: session_events
-- The latest questions of a session, for recognising one that is asked again in better words.
select e.query_id, e.terms from recollect.retrieval_event e
where e.tenant_id = %(tenant)s and e.user_id = %(user)s and e.session = %(session)s
    and e.at >= %(since)s and e.at <= %(at)s and e.query_id <> %(query)s
order by e.at desc limit 5;

-- name: insert_events
-- Store searches; one that is there already stays as it is.
insert into recollect.retrieval_event (
    tenant_id, query_id, user_id, session, at, category, flags, strategy, arm, propensity, weights, terms, entities,
    refines, hits, latency_ms)
select %(tenant)s, x.query_id, %(user)s, %(session)s, x.at, x.category, x.flags, x.strategy, x.arm, x.propensity,
    x.weights, x.terms, x.entities, x.refines, x.hits, x.latency_ms
from jsonb_to_recordset(%(events)s::jsonb) as x(
    query_id uuid, at timestamptz, category text, flags text[], strategy text, arm text, propensity double precision,
    weights jsonb, terms bigint[], entities text[], refines uuid, hits integer, latency_ms real)
on conflict (tenant_id, query_id) do nothing;

-- name: insert_hits
-- Store what searches returned, as far as it is still there: a memory deleted meanwhile leaves no trace.
insert into recollect.retrieval_hit (tenant_id, query_id, memory_id, user_id, place, score, signals)
select %(tenant)s, x.query_id, x.memory_id, %(user)s, x.place, x.score, x.signals
from jsonb_to_recordset(%(hits)s::jsonb) as x(
    query_id uuid, memory_id uuid, place smallint, score real, signals jsonb)
join recollect.memory m on m.tenant_id = %(tenant)s and m.memory_id = x.memory_id
on conflict (tenant_id, query_id, memory_id) do nothing;

-- name: mark_refined
-- A better question followed; what the caller said about the earlier one outweighs that.
update recollect.retrieval_event set outcome = 'refined'
where tenant_id = %(tenant)s and query_id = any(%(ids)s::uuid[]) and user_id = %(user)s
    and (outcome is null or outcome in ('context', 'ignored'));

-- name: mark_hits
-- Say which hits of a search were used; the others were shown and not used.
update recollect.retrieval_hit set used = coalesce(used, false) or memory_id = any(%(ids)s::uuid[])
where tenant_id = %(tenant)s and query_id = %(query)s and user_id = %(user)s
returning memory_id, used, applied;

-- name: mark_event
-- Say what came of a search, unless something stronger is known already.
update recollect.retrieval_event set outcome = %(outcome)s
where tenant_id = %(tenant)s and query_id = %(query)s and user_id = %(user)s
    and (outcome is null or outcome = any(%(weaker)s::text[]));

-- name: find_event
-- A search of the caller's own, or for an admin of anybody's.
select e.query_id, e.user_id, e.outcome from recollect.retrieval_event e
where e.tenant_id = %(tenant)s and e.query_id = %(query)s;

-- name: reward_memories
-- Move memories' utility and count their uses, as far as the caller may write; in one order, so that two of these
-- never wait for each other. Utility stays within -1 and 1.
with step as (
    select x.memory_id, x.uses, x.step from jsonb_to_recordset(%(steps)s::jsonb) as x(
        memory_id uuid, uses integer, step double precision)),
held as (
    select m.memory_id from recollect.memory m
    where m.tenant_id = %(tenant)s and m.memory_id in (select memory_id from step)
    order by m.memory_id for no key update)
update recollect.memory m
set use_count = m.use_count + s.uses, utility = greatest(-1, least(1, m.utility + s.step))
from step s join held h on h.memory_id = s.memory_id
where m.tenant_id = %(tenant)s and m.memory_id = s.memory_id
returning m.memory_id;

-- name: settle_hits
-- The utility of these hits' memories has learned from them.
update recollect.retrieval_hit set applied = true
where tenant_id = %(tenant)s and query_id = any(%(queries)s::uuid[]) and memory_id = any(%(ids)s::uuid[]);

-- name: learned_choices
-- What replaces the table of strategies for the caller: active weights, the running experiment.
select
    (select jsonb_agg(jsonb_build_object('user', p.user_id, 'strategy', p.category, 'weights', p.weights))
     from recollect.policy p where p.tenant_id = %(tenant)s and p.kind = 'signals' and p.state = 'active'
        and p.user_id in ('', %(user)s)) as policies,
    (select jsonb_build_object('name', x.name, 'plan', x.arms)
     from recollect.experiment x where x.tenant_id = %(tenant)s and x.state = 'running') as experiment;

-- name: utility_state
-- The tenant's running mean of rewards, and up to when outcomes are in it.
select (p.weights ->> 'baseline')::double precision as baseline, (p.weights ->> 'count')::integer as count,
    (p.evaluation ->> 'until')::timestamptz as until
from recollect.policy p
where p.tenant_id = %(tenant)s and p.kind = 'utility' and p.user_id = '' and p.category = '' and p.state = 'active';
