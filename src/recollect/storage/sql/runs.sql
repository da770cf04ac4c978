-- name: insert_runs
-- Store runs; one that met a memory that is gone by now leaves no trace, and a forgotten tenant stays forgotten.
insert into recollect.run (
    tenant_id, run_id, query_id, user_id, session, environment, planner, policy_id, started_at, stopped_by, subcalls,
    tokens, memory_ids, trajectory)
select %(tenant)s::text, x.run_id, x.query_id, %(user)s::text, %(session)s::text, x.environment, x.planner,
    x.policy_id, x.started_at, x.stopped_by, x.subcalls, x.tokens, x.memory_ids, x.trajectory
from jsonb_to_recordset(%(runs)s::jsonb) as x(
    run_id uuid, query_id uuid, environment text, planner text, policy_id uuid, started_at timestamptz,
    stopped_by text, subcalls integer, tokens bigint, memory_ids uuid[], trajectory jsonb)
where exists (select from recollect.tenant t where t.tenant_id = %(tenant)s)
    and not exists (select from unnest(x.memory_ids) i
        where not exists (select from recollect.memory m where m.tenant_id = %(tenant)s and m.memory_id = i))
on conflict (tenant_id, run_id) do nothing;

-- name: record_run_outcome
-- Say what came of a run that no search belongs to, or more than its search knows.
update recollect.run set outcome = %(outcome)s, quality = %(quality)s
where tenant_id = %(tenant)s and run_id = %(run)s;

-- name: pending_runs
-- The latest runs that training has not seen, with what came of them or of their searches. A weak outcome may still
-- become a stronger one, so it waits until it is settled.
select r.run_id, r.user_id, r.session, r.query_id, r.started_at, r.policy_id, r.tokens, r.subcalls, r.trajectory,
    r.outcome, r.quality, e.outcome as search_outcome,
    (select count(*) from recollect.retrieval_hit h
        where h.tenant_id = %(tenant)s and h.query_id = r.query_id and h.used) as used,
    (select avg(f.score) from recollect.feedback f
        where f.tenant_id = %(tenant)s and f.query_id = r.query_id) as judged
from recollect.run r
left join recollect.retrieval_event e on e.tenant_id = %(tenant)s and e.query_id = r.query_id
where r.tenant_id = %(tenant)s and r.environment = %(environment)s and not r.trained
    and coalesce(r.outcome, e.outcome) is not null
    and (r.outcome is not null or e.outcome in ('used', 'feedback') or r.started_at < %(settled)s)
order by r.started_at desc, r.run_id limit %(limit)s;

-- name: settle_runs
-- Training has looked at these runs, and a policy in use has learned from them or not; then they may still get another
-- outcome.
update recollect.run r
set trained = %(trained)s, reward = x.reward,
    outcome = case when %(trained)s then x.outcome else r.outcome end,
    quality = case when %(trained)s then x.quality else r.quality end
from jsonb_to_recordset(%(runs)s::jsonb) as x(run_id uuid, outcome text, quality real, reward real)
where r.tenant_id = %(tenant)s and r.run_id = x.run_id;

-- name: list_runs
-- The latest runs, with what came of them as far as it is known.
select r.run_id, r.query_id, r.user_id, r.environment, r.planner, r.policy_id, r.started_at, r.stopped_by, r.subcalls,
    r.tokens, r.outcome, r.quality, r.reward, r.trained
from recollect.run r where r.tenant_id = %(tenant)s
order by r.started_at desc, r.run_id limit %(limit)s;

-- name: find_run
-- One run with its trajectory.
select r.run_id, r.query_id, r.user_id, r.environment, r.planner, r.policy_id, r.started_at, r.stopped_by, r.subcalls,
    r.tokens, r.outcome, r.quality, r.reward, r.trained, r.trajectory
from recollect.run r where r.tenant_id = %(tenant)s and r.run_id = %(run)s;

-- name: run_counts
-- How many runs there are, and how many of them trained.
select r.environment, count(*) as runs, count(*) filter (where r.trained) as trained,
    avg(r.reward) as reward
from recollect.run r where r.tenant_id = %(tenant)s group by r.environment order by r.environment;

-- name: expire_runs
-- Erase runs that are older than they are kept, and those of memories deleted while a run was written.
delete from recollect.run r where r.tenant_id = %(tenant)s
    and (r.started_at < %(before)s
        or exists (select from unnest(r.memory_ids) i
            where not exists (select from recollect.memory m where m.tenant_id = %(tenant)s and m.memory_id = i)));

-- name: forget_runs
-- Erase a user's runs.
delete from recollect.run where tenant_id = %(tenant)s and (%(user)s::text is null or user_id = %(user)s);

-- name: decomposition_policy
-- The active decomposition policy of the tenant, and how training stands.
select
    (select jsonb_build_object('id', p.policy_id, 'policy', p.weights)
     from recollect.policy p where p.tenant_id = %(tenant)s and p.kind = 'decomposition' and p.user_id = ''
        and p.category = %(environment)s and p.state = 'active') as active,
    (select p.weights from recollect.policy p where p.tenant_id = %(tenant)s and p.kind = 'decomposition_state'
        and p.user_id = '' and p.category = %(environment)s and p.state = 'active') as training;

-- name: retire_decomposition
-- Decomposition policies that another one replaces.
update recollect.policy set state = 'retired'
where tenant_id = %(tenant)s and kind = 'decomposition' and user_id = '' and category = %(environment)s
    and state = any(%(states)s::text[]);

-- name: insert_decomposition
-- A decomposition policy with the proof it was adopted on, or turned down.
insert into recollect.policy (tenant_id, policy_id, kind, user_id, category, weights, evaluation, events, state, created_at)
values (%(tenant)s, %(id)s, 'decomposition', '', %(environment)s, %(weights)s::jsonb, %(evaluation)s::jsonb, %(events)s,
    %(state)s, %(at)s);

-- name: save_decomposition_state
-- How training stands: the baseline, the rate of exploration, and what was counted.
insert into recollect.policy (tenant_id, policy_id, kind, user_id, category, weights, events, state)
values (%(tenant)s, %(id)s, 'decomposition_state', '', %(environment)s, %(training)s::jsonb, %(events)s, 'active')
on conflict (tenant_id, kind, user_id, category) where state = 'active' do update
    set weights = excluded.weights, events = excluded.events;

-- name: list_decompositions
-- Decomposition policies in use or tried last, without their weights.
select p.policy_id, p.category, p.state, p.events, p.evaluation, p.created_at from recollect.policy p
where p.tenant_id = %(tenant)s and p.kind = 'decomposition' and p.state <> 'retired'
order by p.category, p.state;
