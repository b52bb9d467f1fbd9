SELECT
    id,
    role,
    note,
    invited_by,
    created_at AS "created_at: Timestamp",
    expires_at AS "expires_at: Timestamp",
    revoked_at AS "revoked_at: Timestamp",
    accepted_at AS "accepted_at: Timestamp",
    accepted_by
FROM invitations
WHERE tenant = $1
ORDER BY id DESC
LIMIT $2
