SELECT serial, revoked_at AS "revoked_at!: Timestamp", revocation_reason AS "revocation_reason!"
FROM aid_certificates
WHERE revoked_at IS NOT NULL AND not_after > $1
ORDER BY not_after, serial
LIMIT $2
