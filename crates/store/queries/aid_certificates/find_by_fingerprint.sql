SELECT
    serial, aid, der, fingerprint, key_fingerprint,
    not_before AS "not_before: Timestamp", not_after AS "not_after: Timestamp",
    replaced_at IS NOT NULL AS "replaced!",
    revoked_at AS "revoked_at: Timestamp", revocation_reason
FROM aid_certificates
WHERE aid = $1
    AND $2::bytea IN (
        substr(fingerprint, 1, octet_length($2::bytea)), substr(key_fingerprint, 1, octet_length($2::bytea))
    )
ORDER BY replaced_at DESC NULLS FIRST
LIMIT 1
