-- All that decides on a caller, in one row: who they are, whether their login holds, and their role in one tenant.
SELECT
    principal.name,
    principal.is_operator,
    membership.tenant AS "tenant?",
    membership.role AS "role?"
FROM principals AS principal
LEFT JOIN memberships AS membership
    ON membership.principal = principal.id AND membership.tenant = $3
WHERE principal.id = $1
    AND principal.disabled_at IS NULL
    AND (
        $2::uuid IS NULL
        OR EXISTS (
            SELECT FROM logins
            WHERE logins.id = $2
                AND logins.principal = principal.id
                AND logins.revoked_at IS NULL
                AND logins.expires_at > now()
        )
    )
