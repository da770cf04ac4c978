-- name: claim_reply
-- Take a key for a request; nothing when somebody has it.
insert into recollect.reply (tenant_id, user_id, key, request, at)
values (%(tenant)s, %(user)s, %(key)s, %(request)s, %(now)s)
on conflict (tenant_id, user_id, key) do update
    set request = excluded.request, at = excluded.at, status = null, body = null
    where reply.at < %(kept_since)s or (reply.status is null and reply.at < %(stuck_since)s)
returning key;

-- name: find_reply
-- What a key stands for.
select r.request, r.at, r.status, r.body from recollect.reply r
where r.tenant_id = %(tenant)s and r.user_id = %(user)s and r.key = %(key)s;

-- name: mark_reply
-- Say that a request was carried out, in the transaction that does it (one that only reads says nothing), or that
-- somebody else has its key by now. {written} asks whether the transaction has written.
with marked as (
    update recollect.reply r set status = 0
    where r.tenant_id = %(tenant)s and r.user_id = %(user)s and r.key = %(key)s and r.at = %(at)s
        and coalesce(r.status, 0) = 0 and {written}
    returning r.key)
select not exists (select from marked) and exists (
    select from recollect.reply r
    where r.tenant_id = %(tenant)s and r.user_id = %(user)s and r.key = %(key)s and r.at <> %(at)s
        and {written}) as lost;

-- name: settle_reply
-- Keep what was answered.
update recollect.reply r set status = %(status)s, body = %(body)s
where r.tenant_id = %(tenant)s and r.user_id = %(user)s and r.key = %(key)s and r.at = %(at)s
    and coalesce(r.status, 0) = 0;

-- name: release_reply
-- Nothing came of the request: the key is free again. When that is not sure, only if nothing was carried out.
delete from recollect.reply r
where r.tenant_id = %(tenant)s and r.user_id = %(user)s and r.key = %(key)s and r.at = %(at)s
    and (r.status is null or (r.status = 0 and %(sure)s));

-- name: expire_replies
-- Forget answers that are older than a day.
delete from recollect.reply r where r.tenant_id = %(tenant)s and r.at < %(kept_since)s;

-- name: forget_user_replies
-- What was answered to a user who is being forgotten.
delete from recollect.reply r where r.tenant_id = %(tenant)s and r.user_id = %(user)s;
