-- Tenants and profiles with a run that has waited for some time. The order makes PostgreSQL read the index of each of them until the first
-- such run, and not all waiting runs.
SELECT profile.tenant AS "tenant!", profile.backend_profile AS "backend_profile!"
FROM list_waiting_profiles() AS profile
CROSS JOIN LATERAL (
    SELECT waiting.since
    FROM waiting_runs AS waiting
    INNER JOIN runs AS run ON run.id = waiting.run
    WHERE waiting.tenant = profile.tenant
        AND waiting.backend_profile = profile.backend_profile
        AND waiting.since < now() - $1::float8 * interval '1 second'
        AND run.waiting_since < now() - $1::float8 * interval '1 second'
    ORDER BY waiting.since
    LIMIT 1
) AS waiting
LIMIT $2
