SELECT EXISTS (
    SELECT 1
    FROM approval_policies AS policy
    WHERE (policy.policy::jsonb) -> 'mediation' ->> 'mode' = 'local-only'
        AND policy.version = (
            SELECT max(latest.version) FROM approval_policies AS latest WHERE latest.tenant = policy.tenant
        )
) AS "found!"
