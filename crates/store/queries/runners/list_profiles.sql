-- The profiles of the runners that registered with a valid enrolment token of a tenant.
SELECT DISTINCT profile.name AS "name!"
FROM runners AS runner
INNER JOIN enrolments AS enrolment ON runner.enrolment = enrolment.id
CROSS JOIN LATERAL unnest(runner.backend_profiles) AS profile (name)
WHERE enrolment.tenant = $1 AND enrolment.revoked_at IS NULL AND enrolment.expires_at > now()
ORDER BY profile.name
LIMIT $2
