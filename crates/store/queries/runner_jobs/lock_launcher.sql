-- Of several servers that use one launcher, one at a time counts its jobs and decides to launch more. What it decides need not be on
-- the disk: the enrolment of a runner is, with everything before it, when its process starts.
SELECT
    pg_advisory_xact_lock(hashtext('runner_jobs'), hashtext($1)) IS NULL AS "locked!",
    set_config('synchronous_commit', 'off', true) AS "synchronous_commit!"
