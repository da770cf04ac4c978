-- name: store_identity
-- The id of this store; hashes of query terms are keyed with it.
select s.store_id from recollect.store s;

-- name: session_events
-- The latest questions of a session, for recognising one that is asked again in better words.
select e.query_id, e.terms from recollect.retrieval_event e
where e.tenant_id = %(tenant)s and e.user_id = %(user)s and e.session = %(session)s
    and e.at >= %(since)s and e.at <= %(at)s and e.query_id <> %(query)s
order by e.at desc, e.query_id desc limit 5;

-- name: lock_traces
-- Before searches and runs are written down: wait until nobody erases memories of the tenant, and keep them waiting.
-- `forget_traces` is the other side.
select pg_advisory_xact_lock_shared(hashtextextended('recollect.traces ' || %(tenant)s::text, 0));

-- name: insert_events
-- Store searches; one that is there already stays as it is, and a tenant forgotten meanwhile stays forgotten. A name
-- is kept as long as something still knows it, a question where the tenant keeps them and nothing it found is gone.
insert into recollect.retrieval_event (
    tenant_id, query_id, user_id, session, at, category, flags, strategy, arm, propensity, weights, terms, entities,
    refines, hits, latency_ms, question, stages)
select %(tenant)s::text, x.query_id, %(user)s::text, %(session)s::text, x.at, x.category, x.flags, x.strategy, x.arm, x.propensity,
    x.weights, x.terms,
    array(select e.entity from unnest(x.entities) with ordinality as e(entity, place)
        where exists (select from recollect.mention m where m.tenant_id = %(tenant)s and m.entity = e.entity)
            or exists (select from recollect.entity k where k.tenant_id = %(tenant)s and k.entity = e.entity)
        order by e.place),
    x.refines, x.hits, x.latency_ms,
    case when t.keep_questions and not exists (
        select from unnest(x.found) f where not exists (
            select from recollect.memory m where m.tenant_id = %(tenant)s and m.memory_id = f)) then x.question end,
    x.stages
from jsonb_to_recordset(%(events)s::jsonb) as x(
    query_id uuid, at timestamptz, category text, flags text[], strategy text, arm text, propensity double precision,
    weights jsonb, terms bigint[], entities text[], refines uuid, hits integer, latency_ms real,
    question text, stages jsonb, found uuid[])
join recollect.tenant t on t.tenant_id = %(tenant)s
on conflict (tenant_id, query_id) do nothing;

-- name: insert_hits
-- Store what searches returned, as far as it is still there: a memory deleted meanwhile leaves no trace.
insert into recollect.retrieval_hit (tenant_id, query_id, memory_id, user_id, place, score, signals)
select %(tenant)s::text, x.query_id, x.memory_id, %(user)s::text, x.place, x.score, x.signals
from jsonb_to_recordset(%(hits)s::jsonb) as x(
    query_id uuid, memory_id uuid, place smallint, score real, signals jsonb)
join recollect.memory m on m.tenant_id = %(tenant)s and m.memory_id = x.memory_id
on conflict (tenant_id, query_id, memory_id) do nothing;

-- name: mark_refined
-- A better question followed; what the caller said about the earlier one outweighs that.
update recollect.retrieval_event set outcome = 'refined'
where tenant_id = %(tenant)s and query_id = any(%(ids)s::uuid[]) and user_id = %(user)s
    and (outcome is null or outcome in ('context', 'ignored'));

-- name: lock_hit_memories
-- Hold the memories that some searches returned, as far as the caller may write: before their hits are touched, since
-- whoever erases a memory holds it first, too.
select m.memory_id from recollect.memory m
where m.tenant_id = %(tenant)s and m.memory_id in (select h.memory_id from recollect.retrieval_hit h
    where h.tenant_id = %(tenant)s and h.query_id = any(%(queries)s::uuid[]) and h.user_id = %(user)s)
order by m.memory_id for no key update;

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
update recollect.retrieval_hit h set applied = true
from unnest(%(queries)s::uuid[], %(ids)s::uuid[]) as x(query_id, memory_id)
where h.tenant_id = %(tenant)s and h.query_id = x.query_id and h.memory_id = x.memory_id;

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

-- name: save_utility_state
-- Keep the tenant's running mean of rewards.
insert into recollect.policy (tenant_id, policy_id, kind, user_id, category, weights, evaluation, events, state)
values (%(tenant)s, %(id)s, 'utility', '', '', jsonb_build_object('baseline', %(baseline)s::double precision,
    'count', %(count)s::integer), jsonb_build_object('until', %(until)s::timestamptz), %(count)s::integer, 'active')
on conflict (tenant_id, kind, user_id, category) where state = 'active' do update
    set weights = excluded.weights, evaluation = excluded.evaluation, events = excluded.events;

-- name: hold_learning
-- One training of a tenant at a time; the second waits for the first.
select pg_advisory_xact_lock(hashtextextended('recollect.learning ' || %(tenant)s, 0));

-- name: find_hit
-- Whether a search returned a memory.
select h.memory_id from recollect.retrieval_hit h
where h.tenant_id = %(tenant)s and h.query_id = %(query)s and h.memory_id = any(%(ids)s::uuid[]);

-- name: find_feedback
-- The same judgement by the same user, given lately.
select f.feedback_id, f.memory_id, f.kind, f.score, f.at, f.query_id, f.applied from recollect.feedback f
where f.tenant_id = %(tenant)s and f.memory_id = %(memory)s and f.user_id = %(user)s and f.kind = %(kind)s
    and f.query_id is not distinct from %(query)s::uuid and f.at > %(since)s
order by f.at desc, f.feedback_id desc limit 1;

-- name: rescore_feedback
-- A judgement given again, with another score.
update recollect.feedback set score = %(score)s, at = %(at)s
where tenant_id = %(tenant)s and feedback_id = %(id)s;

-- name: insert_feedback
-- Store a judgement.
insert into recollect.feedback (tenant_id, feedback_id, memory_id, query_id, user_id, kind, score, at, applied)
values (%(tenant)s, %(id)s, %(memory)s, %(query)s::uuid, %(user)s, %(kind)s, %(score)s, %(at)s, %(applied)s);

-- name: pending_feedback
-- Judgements that no memory's utility has learned from yet.
select f.feedback_id, f.memory_id, f.score from recollect.feedback f
where f.tenant_id = %(tenant)s and not f.applied order by f.at limit %(limit)s;

-- name: settle_feedback
-- The utility of these judgements' memories has learned from them.
update recollect.feedback set applied = true
where tenant_id = %(tenant)s and feedback_id = any(%(ids)s::uuid[]);

-- name: pending_hits
-- Hits that were used, or shown and unused before a better question, and that no utility has learned from yet.
select h.query_id, h.memory_id, coalesce(h.used, false) as used, e.outcome
from recollect.retrieval_hit h
join recollect.retrieval_event e on e.tenant_id = %(tenant)s and e.query_id = h.query_id
where h.tenant_id = %(tenant)s and h.used and not h.applied
union all
select h.query_id, h.memory_id, false as used, e.outcome
from recollect.retrieval_event e
join recollect.retrieval_hit h on h.tenant_id = %(tenant)s and h.query_id = e.query_id
where e.tenant_id = %(tenant)s and e.outcome = 'refined' and e.at > %(since)s
    and h.used is not true and not h.applied
limit %(limit)s;

-- name: rewards_since
-- What outcomes were worth since the last training, for the running mean; the oldest first.
select x.reward from (
    select f.at, f.score as reward from recollect.feedback f where f.tenant_id = %(tenant)s and f.at > %(since)s
    union all
    select e.at, case when not coalesce(h.used, false) then %(refined)s::double precision
        when e.outcome = 'used' then %(reported)s::double precision else %(assembled)s::double precision end
    from recollect.retrieval_event e
    join recollect.retrieval_hit h on h.tenant_id = %(tenant)s and h.query_id = e.query_id
    where e.tenant_id = %(tenant)s and e.at > %(since)s and (h.used or e.outcome = 'refined')
    order by 1 desc, 2 desc limit 5000) x
order by x.at, x.reward;

-- name: mark_ignored
-- Searches of which nothing was used although their session says what it uses. A session that says nothing at all
-- says nothing about these either.
update recollect.retrieval_event e set outcome = 'ignored'
where e.tenant_id = %(tenant)s and e.outcome is null and e.session <> '' and e.hits > 0
    and e.at < %(before)s and e.at > %(since)s
    and exists (select from recollect.retrieval_event o
        where o.tenant_id = %(tenant)s and o.user_id = e.user_id and o.session = e.session
            and o.outcome in ('used', 'context', 'feedback'));

-- name: judged_groups
-- Kinds of questions with how many searches whose use is known, by user and for all users together.
select coalesce(e.user_id, '') as user_id, e.strategy, count(*) as events
from recollect.retrieval_event e
where e.tenant_id = %(tenant)s and e.outcome in ('used', 'feedback')
group by grouping sets ((e.strategy, e.user_id), (e.strategy))
having count(*) >= %(least)s
order by 2, 1;

-- name: judged_hits
-- The latest searches of a group whose use is known, with every hit: its place, signals, and what was said of it.
select e.query_id, e.at, e.user_id, e.session, h.place, h.signals,
    case when e.outcome = 'used' and h.used then 1.0 else 0.0 end as used,
    (select avg(f.score) from recollect.feedback f where f.tenant_id = %(tenant)s
        and f.query_id = e.query_id and f.memory_id = h.memory_id) as judged
from (select e.query_id, e.at, e.user_id, e.session, e.outcome from recollect.retrieval_event e
    where e.tenant_id = %(tenant)s and e.outcome in ('used', 'feedback') and e.strategy = %(strategy)s
        and (%(user)s = '' or e.user_id = %(user)s)
    order by e.at desc, e.query_id desc limit %(limit)s) e
join recollect.retrieval_hit h on h.tenant_id = %(tenant)s and h.query_id = e.query_id and h.user_id = e.user_id
order by e.at, e.query_id, h.place;

-- name: explored_outcomes
-- Searches of a group that were ranked at random, or as usual while others were, and whether they served.
select e.arm, e.propensity, e.user_id, e.session,
    (e.outcome = 'used' or coalesce((select avg(f.score) from recollect.feedback f
        where f.tenant_id = %(tenant)s and f.query_id = e.query_id), 0) > 0) as served
from recollect.retrieval_event e
where e.tenant_id = %(tenant)s and e.strategy = %(strategy)s and e.at > %(since)s and e.propensity < 1
    and (e.arm is null or e.arm ^@ 'explore/') and (%(user)s = '' or e.user_id = %(user)s)
order by e.at desc, e.query_id desc limit %(limit)s;

-- name: list_policies
-- Learned weights, the active ones first.
select p.policy_id, p.user_id, p.category, p.weights, p.evaluation, p.events, p.state, p.created_at
from recollect.policy p
where p.tenant_id = %(tenant)s and p.kind = 'signals' and p.state <> 'retired'
order by p.state, p.category, p.user_id;

-- name: group_policies
-- The active weights and the last candidate of a group.
select p.policy_id, p.user_id, p.category, p.weights, p.evaluation, p.events, p.state, p.created_at
from recollect.policy p
where p.tenant_id = %(tenant)s and p.kind = 'signals' and p.user_id = %(user)s and p.category = %(strategy)s
    and p.state <> 'retired';

-- name: retire_policies
-- Weights that others replace.
update recollect.policy set state = 'retired'
where tenant_id = %(tenant)s and kind = 'signals' and user_id = %(user)s and category = %(strategy)s
    and state = any(%(states)s::text[]);

-- name: insert_policy
-- Learned weights with the proof they were adopted on, or turned down.
insert into recollect.policy (tenant_id, policy_id, kind, user_id, category, weights, evaluation, events, state, created_at)
values (%(tenant)s, %(id)s, 'signals', %(user)s, %(strategy)s, %(weights)s::jsonb, %(evaluation)s::jsonb, %(events)s,
    %(state)s, %(at)s);

-- name: delete_policies
-- Forget all that was learned.
delete from recollect.policy where tenant_id = %(tenant)s;

-- name: level_utility
-- Every memory is worth the same again, as far as the caller may write.
update recollect.memory set utility = 0 where tenant_id = %(tenant)s and utility <> 0;

-- name: learning_counts
-- How many searches and judgements there are, by outcome and kind.
select 'event' as what, coalesce(e.outcome, 'none') as kind, count(*) as rows, 0::bigint as pending
from recollect.retrieval_event e where e.tenant_id = %(tenant)s group by 2
union all
select 'feedback', f.kind, count(*), count(*) filter (where not f.applied)
from recollect.feedback f where f.tenant_id = %(tenant)s group by 2;

-- name: list_experiments
-- Experiments, the latest first.
select x.name, x.arms as plan, x.state, x.created_at, x.stopped_at from recollect.experiment x
where x.tenant_id = %(tenant)s order by x.created_at desc;

-- name: insert_experiment
-- Start an experiment; nothing happens when its name is taken or another one is running.
insert into recollect.experiment (tenant_id, name, arms, state, created_at)
values (%(tenant)s, %(name)s, %(plan)s::jsonb, 'running', %(at)s)
on conflict do nothing;

-- name: stop_experiment
-- Stop a running experiment.
update recollect.experiment set state = 'stopped', stopped_at = %(at)s
where tenant_id = %(tenant)s and name = %(name)s and state = 'running';

-- name: delete_experiments
-- Forget all experiments.
delete from recollect.experiment where tenant_id = %(tenant)s;

-- name: arm_outcomes
-- What came of an experiment's searches, by arm and by whom the lot fell on.
select e.arm, e.user_id, case when %(by_user)s then '' else e.session end as session, count(*) as queries,
    count(*) filter (where e.outcome in ('used', 'context') or f.score > 0) as used,
    count(*) filter (where e.outcome = 'refined') as refined,
    count(f.score) as judged, coalesce(sum(f.score), 0) as score
from recollect.retrieval_event e
left join lateral (select avg(x.score) as score from recollect.feedback x
    where x.tenant_id = %(tenant)s and x.query_id = e.query_id) f on true
where e.tenant_id = %(tenant)s and e.at >= %(since)s and e.at <= %(until)s and e.arm = any(%(arms)s::text[])
group by 1, 2, 3;

-- name: expire_events
-- Erase searches that are older than they are kept, as far as they are the caller's.
delete from recollect.retrieval_event where tenant_id = %(tenant)s and at < %(before)s;

-- name: expire_hits
-- Erase what searches that are too old returned, and what is left of memories deleted while a search was written.
delete from recollect.retrieval_hit h where h.tenant_id = %(tenant)s
    and (exists (select from recollect.retrieval_event e
            where e.tenant_id = %(tenant)s and e.query_id = h.query_id and e.at < %(before)s)
        or not exists (select from recollect.memory m
            where m.tenant_id = %(tenant)s and m.memory_id = h.memory_id));

-- name: expire_feedback
-- Erase judgements that are older than they are kept, as far as they are the caller's.
delete from recollect.feedback where tenant_id = %(tenant)s and at < %(before)s and applied;

-- name: forget_traces
-- Erase what searches, runs and feedback of anybody keep of memories that are gone.
select t.feedback, t.hits, t.runs from recollect.forget_traces(%(ids)s::uuid[], %(entities)s::text[]) t;

-- name: forget_events
-- Erase a user's searches.
delete from recollect.retrieval_event where tenant_id = %(tenant)s and (%(user)s::text is null or user_id = %(user)s);

-- name: forget_hits
-- Erase what a user's searches returned.
delete from recollect.retrieval_hit where tenant_id = %(tenant)s and (%(user)s::text is null or user_id = %(user)s);

-- name: forget_feedback
-- Erase a user's judgements.
delete from recollect.feedback where tenant_id = %(tenant)s and (%(user)s::text is null or user_id = %(user)s);

-- name: forget_policies
-- Erase what was learned from one user alone.
delete from recollect.policy where tenant_id = %(tenant)s and user_id = %(user)s and user_id <> '';

-- name: list_traces
-- Searches of the caller's own, or for an admin of anybody's, the newest first.
select e.query_id, e.user_id, e.session, e.at, e.category, e.strategy, e.entities, e.outcome, e.hits, e.latency_ms,
    e.question, e.stages
from recollect.retrieval_event e
where e.tenant_id = %(tenant)s
    and (%(query)s::uuid is null or e.query_id = %(query)s::uuid)
    and (%(user)s::text is null or e.user_id = %(user)s::text)
    and (%(since)s::timestamptz is null or e.at >= %(since)s::timestamptz)
    and (%(before)s::timestamptz is null or e.at < %(before)s::timestamptz)
    and (%(found)s::boolean is null or %(found)s::boolean = (e.hits > 0))
    and (%(outcome)s::text is null or e.outcome = %(outcome)s::text)
    and (%(min_ms)s::float8 is null or e.latency_ms >= %(min_ms)s::float8)
    and (%(text)s::text is null or strpos(lower(e.question), lower(%(text)s::text)) > 0)
order by e.at desc, e.query_id desc
limit %(limit)s;

-- name: trace_hits
-- What a search returned, in the order it was shown.
select h.memory_id, h.score, h.signals, h.used from recollect.retrieval_hit h
where h.tenant_id = %(tenant)s and h.query_id = %(query)s
order by h.place;

-- name: forget_questions
-- The words of all searches that were kept.
update recollect.retrieval_event set question = null where tenant_id = %(tenant)s and question is not null;
