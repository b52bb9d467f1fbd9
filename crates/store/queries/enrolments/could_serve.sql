-- Whether a runner could come to a tenant that serves a profile: one that its people start, with a token of theirs.
SELECT EXISTS (
    SELECT 1
    FROM enrolments
    WHERE tenant = $1 AND (profile IS NULL OR profile = $2) AND revoked_at IS NULL AND expires_at > now()
) AS "could!"
