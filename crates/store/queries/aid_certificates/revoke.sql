-- All certificates of the AID with the same key, expired ones too: a key that was lost is lost in each of them.
UPDATE aid_certificates
SET revoked_at = $3, revocation_reason = $4
WHERE aid = $1 AND key_fingerprint = $2 AND revoked_at IS NULL
