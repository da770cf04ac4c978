-- name: describe_caller
-- What the caller stands on: whether the tenant exists, how its questions are routed, the scopes visible (null for an
-- admin: all), and counts.
select
    t.tenant_id is not null as tenant_exists,
    t.recursion_threshold,
    t.recursion_enabled,
    recollect.caller_is_admin() as sees_all,
    (select x.space_id from recollect.space x where x.state = 'active') as space_id,
    (select x.terms_version from recollect.store x) as terms_version,
    s.scope_ids,
    coalesce(c.memories, 0)::bigint as memories,
    coalesce(c.vectors, 0)::bigint as vectors,
    coalesce(c.terms, 0)::bigint as terms
from (
    select case
        when %(layers)s::smallint[] is null and %(scope)s::uuid is null and recollect.caller_is_admin() then null
        else array(
            select s.scope_id from recollect.scope s
            where s.tenant_id = %(tenant)s
                and (%(layers)s::smallint[] is null or s.layer = any(%(layers)s::smallint[]))
                and (%(scope)s::uuid is null or s.scope_id = %(scope)s::uuid))
        end as scope_ids
) s
left join recollect.tenant t on t.tenant_id = %(tenant)s
left join lateral (
    select sum(y.memories) as memories, sum(y.vectors) as vectors, sum(y.terms) as terms
    from recollect.tally y
    where y.tenant_id = %(tenant)s and (s.scope_ids is null or y.scope_id = any(s.scope_ids))
) c on true;

-- name: find_scope
-- A scope by its written name; owner matters for agents and sessions only.
select s.scope_id, s.layer, s.name, s.owner, s.parent_id, s.created_at,
    (recollect.caller_is_admin() or s.scope_id = any(recollect.caller_scopes('writable'))) as writable
from recollect.scope s
where s.tenant_id = %(tenant)s and s.layer = %(layer)s and s.name = %(name)s and s.owner = any(%(owners)s::text[])
order by s.owner desc
limit 2;

-- name: insert_scope
-- A new scope; somebody else creating it at the same time is not an error.
-- No columns after "on conflict": naming them would ask for the right to read the new row before it is there.
insert into recollect.scope (tenant_id, scope_id, layer, name, owner, parent_id)
values (%(tenant)s, %(scope)s, %(layer)s, %(name)s, %(owner)s, %(parent)s)
on conflict do nothing;

-- name: list_scopes
-- All visible scopes of the tenant with their parents' names and counts.
select s.scope_id, s.layer, s.name, s.owner, s.created_at, p.layer as parent_layer, p.name as parent_name,
    coalesce(y.memories, 0) as memories
from recollect.scope s
left join recollect.scope p on p.tenant_id = s.tenant_id and p.scope_id = s.parent_id
left join recollect.tally y on y.tenant_id = s.tenant_id and y.scope_id = s.scope_id
where s.tenant_id = %(tenant)s
    and (%(layers)s::smallint[] is null or s.layer = any(%(layers)s::smallint[]))
    and (%(scope)s::uuid is null or s.scope_id = %(scope)s::uuid)
order by s.layer desc, s.name, s.owner;

-- name: move_scope
-- Hang a scope under another parent.
update recollect.scope set parent_id = %(parent)s
where tenant_id = %(tenant)s and scope_id = %(scope)s
returning scope_id;

-- name: is_below
-- Whether a scope is another one or stands below it (a move must not make a circle).
with recursive above as (
    select s.scope_id, s.parent_id from recollect.scope s
    where s.tenant_id = %(tenant)s and s.scope_id = %(scope)s
    union
    select s.scope_id, s.parent_id from above a
    join recollect.scope s on s.tenant_id = %(tenant)s and s.scope_id = a.parent_id)
select exists (select from above where scope_id = %(ancestor)s) as below;

-- name: count_children
-- How many scopes hang directly under a scope.
select count(*) as children from recollect.scope s
where s.tenant_id = %(tenant)s and s.parent_id = %(scope)s;

-- name: delete_scopes
-- Remove scopes (their memories are erased before this).
delete from recollect.scope where tenant_id = %(tenant)s and scope_id = any(%(scopes)s::uuid[])
returning scope_id;

-- name: owned_scopes
-- The scopes that belong to one user: the user's own, and those of the user's agents and sessions.
select s.scope_id from recollect.scope s
where s.tenant_id = %(tenant)s
    and ((s.layer = 2 and s.name = %(user)s) or (s.layer in (1, 3) and s.owner = %(user)s))
order by s.parent_id nulls last;

-- name: upsert_member
-- Make a user a member or lead of a scope.
insert into recollect.membership (tenant_id, user_id, scope_id, role)
values (%(tenant)s, %(user)s, %(scope)s, %(role)s)
on conflict (tenant_id, user_id, scope_id) do update set role = excluded.role;

-- name: delete_members
-- End memberships: of one user in one scope, or of a user everywhere.
delete from recollect.membership
where tenant_id = %(tenant)s and user_id = %(user)s
    and (%(scope)s::uuid is null or scope_id = %(scope)s::uuid)
returning scope_id;

-- name: list_members
-- Memberships the caller may see, by scope and user.
select m.user_id, m.role, m.created_at, s.layer, s.name
from recollect.membership m
join recollect.scope s on s.tenant_id = m.tenant_id and s.scope_id = m.scope_id
where m.tenant_id = %(tenant)s
    and (%(scope)s::uuid is null or m.scope_id = %(scope)s::uuid)
    and (%(user)s::text is null or m.user_id = %(user)s::text)
order by s.layer desc, s.name, m.user_id;

-- name: get_tenant
-- One tenant with its retention and its routing.
select t.tenant_id, t.name, t.created_at, t.recursion_threshold, t.recursion_enabled, t.keep_questions,
    coalesce((select jsonb_object_agg(r.layer::text, r.days) from recollect.retention r
              where r.tenant_id = %(tenant)s), '{}') as retention
from recollect.tenant t where t.tenant_id = %(tenant)s;

-- name: set_retention
-- Keep memories of a layer for so many days.
insert into recollect.retention (tenant_id, layer, days) values (%(tenant)s, %(layer)s, %(days)s)
on conflict (tenant_id, layer) do update set days = excluded.days;

-- name: clear_retention
-- Keep memories of a layer for ever again.
delete from recollect.retention where tenant_id = %(tenant)s and layer = %(layer)s;

-- name: set_recursion
-- From which complexity on the tenant's questions are decomposed, and whether they are at all; null: as the settings say.
update recollect.tenant set recursion_threshold = %(threshold)s, recursion_enabled = %(enabled)s
where tenant_id = %(tenant)s
returning tenant_id;

-- name: set_traces
-- Whether the words of searches are kept with their traces.
update recollect.tenant set keep_questions = %(keep)s where tenant_id = %(tenant)s returning tenant_id;

-- name: apply_retention
-- Recompute until when memories of a layer are believed, after its retention changed.
update recollect.memory m set until = least(
    m.superseded_at, m.expires_at, timestamptz '9999-01-01 00:00+00',
    -- Days are as long as in UTC; a cluster asks for a sum that depends on no setting.
    (m.created_at at time zone 'UTC' + make_interval(days => %(days)s::int)) at time zone 'UTC')
where m.tenant_id = %(tenant)s and m.layer = %(layer)s and m.version_of is null;

-- name: align_embeddings
-- Vectors follow their memory's period of belief.
update recollect.embedding e set since = m.since, until = m.until
from recollect.memory m
where m.tenant_id = %(tenant)s and e.tenant_id = %(tenant)s and e.memory_id = m.memory_id
    and (e.since, e.until) is distinct from (m.since, m.until)
    and (%(ids)s::uuid[] is null or m.memory_id = any(%(ids)s::uuid[]));
