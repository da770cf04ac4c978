-- name: enqueue_job
-- Hand a job of the caller's tenant to the workers, unless the same waits already.
select recollect.enqueue(%(task)s::text, %(subject)s::text, %(args)s::jsonb) as enqueued;

-- name: forget_jobs
-- Drop the jobs of a tenant that is being erased.
select recollect.forget_jobs(%(tenant)s::text) as jobs;
