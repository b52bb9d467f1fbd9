SELECT
    principal,
    current_hash,
    previous_hash,
    previous_rotated_at AS "previous_rotated_at: Timestamp",
    last_rotated_at AS "last_rotated_at: Timestamp",
    expires_at AS "expires_at: Timestamp",
    revoked_at AS "revoked_at: Timestamp"
FROM logins
WHERE id = $1 AND kind = 'tokens'
FOR UPDATE
