SELECT
    tenant,
    role,
    hash,
    invited_by,
    expires_at AS "expires_at: Timestamp",
    revoked_at AS "revoked_at: Timestamp",
    accepted_at AS "accepted_at: Timestamp"
FROM invitations
WHERE id = $1
FOR UPDATE
