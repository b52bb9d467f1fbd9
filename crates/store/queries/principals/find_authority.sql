-- Everything that authorises a caller, in one row: the principal, a valid login, and the role in one tenant.
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
