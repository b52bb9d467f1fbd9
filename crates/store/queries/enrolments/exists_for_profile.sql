-- Whether a tenant has a valid enrolment token with which a runner for this profile can register.
SELECT EXISTS (
    SELECT 1
    FROM enrolments
    WHERE tenant = $1 AND (profile IS NULL OR profile = $2) AND revoked_at IS NULL AND expires_at > now()
) AS "could!"
