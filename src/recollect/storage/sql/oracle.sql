-- name: insert_consultation
-- Store a consultation; one that quotes a document which is gone by now leaves no trace.
insert into recollect.consultation (
    tenant_id, consultation_id, user_id, session, at, outcome, documents, document, result)
select %(tenant)s::text, %(id)s, %(user)s::text, %(session)s::text, %(at)s, %(outcome)s, %(documents)s::text[],
    %(document)s::jsonb, %(result)s::jsonb
where not exists (select from unnest(%(documents)s::text[]) d
    where not exists (select from recollect.document x where x.tenant_id = %(tenant)s and x.document_id::text = d));

-- name: insert_consultation_events
-- Store what happened in a consultation, if it is there.
insert into recollect.consultation_event (tenant_id, consultation_id, number, user_id, at, type, detail)
select %(tenant)s::text, %(id)s, x.number, %(user)s::text, x.at, x.type, x.detail
from jsonb_to_recordset(%(events)s::jsonb) as x(number integer, at timestamptz, type text, detail jsonb)
where exists (select from recollect.consultation c where c.tenant_id = %(tenant)s and c.consultation_id = %(id)s);

-- name: insert_capability_requests
-- Store what a consultation missed, if it is there.
insert into recollect.capability_request (
    tenant_id, request_id, consultation_id, user_id, at, raised_by, description, context, workflow, agent)
select %(tenant)s::text, x.id, %(id)s, %(user)s::text, x.at, x.raised_by, x.description, x.context, x.workflow, x.agent
from jsonb_to_recordset(%(requests)s::jsonb) as x(
    id uuid, at timestamptz, raised_by text, description text, context jsonb, workflow text, agent text)
where exists (select from recollect.consultation c where c.tenant_id = %(tenant)s and c.consultation_id = %(id)s);

-- name: list_consultations
-- The latest consultations, of one session or of all.
select c.document - 'answers' as document from recollect.consultation c
where c.tenant_id = %(tenant)s and (%(session)s::text is null or c.session = %(session)s)
    and c.document ->> 'kind' is distinct from 'exploration'
order by c.at desc, c.consultation_id limit %(limit)s;

-- name: session_answers
-- What models answered to the calls of a user's session, the oldest first; of its latest consultations since it ended.
select x.answers from (
    select c.document -> 'answers' as answers, c.at, c.consultation_id from recollect.consultation c
    where c.tenant_id = %(tenant)s and c.session = %(session)s and c.user_id = %(user)s and c.document ? 'answers'
        and c.at > %(since)s and not exists (
            select from recollect.event e where e.tenant_id = c.tenant_id and e.type = 'session_ended'
                and e.by_user = c.user_id and e.detail ->> 'session' = c.session and e.at >= c.at)
    order by c.at desc, c.consultation_id limit %(limit)s) x
order by x.at, x.consultation_id;

-- name: find_consultation
-- One consultation with its answer.
select c.document - 'answers' as document, c.result from recollect.consultation c
where c.tenant_id = %(tenant)s and c.consultation_id = %(id)s;

-- name: list_consultation_events
-- What happened in a consultation.
select e.number, e.at, e.type, e.detail from recollect.consultation_event e
where e.tenant_id = %(tenant)s and e.consultation_id = %(id)s order by e.number;

-- name: list_explorations
-- The latest explorations; each lies beside the consultations under the name of its task.
select c.document from recollect.consultation c
where c.tenant_id = %(tenant)s and c.document ->> 'kind' = 'exploration'
    and (%(task)s::text is null or c.session = %(task)s)
order by c.at desc, c.consultation_id limit %(limit)s;

-- name: replace_exploration
-- Make room for another exploration of the same task by the same user.
delete from recollect.consultation c
where c.tenant_id = %(tenant)s and c.user_id = %(user)s and c.session = %(task)s
    and c.document ->> 'kind' = 'exploration';

-- name: list_capability_requests
-- What was missing since a moment, the newest first.
select r.request_id, r.consultation_id, r.at, r.raised_by, r.description, r.context, r.workflow, r.agent
from recollect.capability_request r
where r.tenant_id = %(tenant)s and (%(since)s::timestamptz is null or r.at >= %(since)s)
order by r.at desc, r.request_id limit %(limit)s;

-- name: forget_user_consultations
-- Erase a user's consultations, with their events and requests.
delete from recollect.consultation where tenant_id = %(tenant)s and user_id = %(user)s;

-- name: forget_consultations
-- Erase the consultations that quote documents which are gone, whoever asked.
select recollect.forget_consultations(%(documents)s::text[]) as consultations;
