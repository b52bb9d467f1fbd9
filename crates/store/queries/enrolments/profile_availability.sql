-- Whether runners of a tenant serve a profile. A valid enrolment token without a profile serves any until runners have
-- registered with it; then it serves theirs. A runner without profiles serves any. The order leads to `enrolments_valid`, however
-- many ended enrolments there are.
SELECT
    coalesce((
        SELECT true
        FROM enrolments
        WHERE tenant = $1 AND revoked_at IS NULL AND expires_at > now()
        ORDER BY expires_at DESC
        LIMIT 1
    ), false) AS "has_enrolment!",
    coalesce((
        SELECT true
        FROM enrolments AS enrolment
        WHERE
            enrolment.tenant = $1
            AND enrolment.revoked_at IS NULL
            AND enrolment.expires_at > now()
            AND (
                enrolment.profile = $2
                OR enrolment.profile IS NULL
                AND (
                    NOT EXISTS (SELECT 1 FROM runners AS runner WHERE runner.enrolment = enrolment.id)
                    OR EXISTS (
                        SELECT 1
                        FROM runners AS runner
                        WHERE
                            runner.enrolment = enrolment.id
                            AND ($2 = ANY(runner.backend_profiles) OR runner.backend_profiles = '{}')
                    )
                )
            )
        ORDER BY enrolment.expires_at DESC
        LIMIT 1
    ), false) AS "is_served!"
