-- name: enqueue_job
-- Hand a job of the caller's tenant to the workers, unless the same waits already.
select recollect.enqueue(%(task)s::text, %(subject)s::text, %(args)s::jsonb) as enqueued;

-- name: forget_jobs
-- Drop the jobs of a tenant that is being erased.
select recollect.forget_jobs(%(tenant)s::text) as jobs;

-- name: find_queue
-- Whether there is a queue that the application may use.
select has_schema_privilege(n.oid, 'usage') as found from pg_namespace n where n.nspname = 'recollect_jobs';
