-- Of several servers that use one launcher, one at a time counts its jobs and decides to launch more.
SELECT pg_advisory_xact_lock(hashtext('runner_jobs'), hashtext($1)) IS NULL AS "locked!"
