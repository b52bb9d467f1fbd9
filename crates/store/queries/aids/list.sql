-- The AIDs of a principal, or of everybody, each with its newest certificate.
SELECT
    a.aid, a.principal, a.created_at AS "created_at: Timestamp",
    c.serial, c.der, c.fingerprint, c.key_fingerprint,
    c.not_before AS "not_before: Timestamp", c.not_after AS "not_after: Timestamp",
    c.replaced_at IS NOT NULL AS "replaced!",
    c.revoked_at AS "revoked_at: Timestamp", c.revocation_reason
FROM aids AS a
JOIN aid_certificates AS c ON c.aid = a.aid AND c.replaced_at IS NULL
WHERE ($1::uuid IS NULL OR a.principal = $1) AND a.aid > $2
ORDER BY a.aid
LIMIT $3
