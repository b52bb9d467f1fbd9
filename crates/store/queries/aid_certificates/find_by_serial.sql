SELECT
    serial, aid, der, fingerprint, key_fingerprint,
    not_before AS "not_before: Timestamp", not_after AS "not_after: Timestamp",
    replaced_at IS NOT NULL AS "replaced!",
    revoked_at AS "revoked_at: Timestamp", revocation_reason
FROM aid_certificates
WHERE serial = $1
