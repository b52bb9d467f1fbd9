INSERT INTO aid_certificates (serial, aid, der, fingerprint, key_fingerprint, not_before, not_after)
VALUES ($1, $2, $3, $4, $5, $6, $7)
