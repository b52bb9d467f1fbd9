-- Runs of a tenant that can be claimed with one of these profiles, longest waiting first.
SELECT waiting.run AS "id!"
FROM (SELECT DISTINCT unnest($3::text []) AS name) AS profile
CROSS JOIN LATERAL (
    SELECT candidate.run, candidate.since
    FROM waiting_runs AS candidate
    WHERE candidate.tenant = $1 AND candidate.backend_profile = profile.name
    ORDER BY candidate.since
    LIMIT $4
) AS waiting
WHERE $2::text IS NULL OR profile.name = $2
ORDER BY waiting.since
LIMIT $4
