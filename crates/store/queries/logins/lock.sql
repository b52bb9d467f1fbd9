-- A disabled principal has no valid login.
SELECT
    logins.principal,
    logins.current_hash,
    logins.previous_hash,
    logins.previous_rotated_at AS "previous_rotated_at: Timestamp",
    logins.last_rotated_at AS "last_rotated_at: Timestamp",
    logins.expires_at AS "expires_at: Timestamp",
    logins.revoked_at AS "revoked_at: Timestamp"
FROM logins
INNER JOIN principals ON principals.id = logins.principal
WHERE logins.id = $1 AND logins.kind = $2 AND principals.disabled_at IS NULL
FOR UPDATE OF logins
