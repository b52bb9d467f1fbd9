-- Whether a runner of the tenant that serves a profile has registered lately. Runners register anew for each run.
SELECT EXISTS (
    SELECT 1
    FROM runners
    WHERE tenant = $1 AND $2 = ANY(backend_profiles) AND seen_at > now() - interval '1 hour'
) AS "serves!"
