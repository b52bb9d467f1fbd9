-- Of several servers that use one place, one at a time counts what runs there and decides on more.
SELECT pg_advisory_xact_lock(hashtext('runner_jobs'), hashtext($1)) IS NULL AS "locked!"
