INSERT INTO e2ee_prekeys (inbox, device, prekey_id, public_key, signature, created_at_ms, cert_fingerprint, key_fingerprint)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
ON CONFLICT (inbox, device) DO UPDATE SET
    prekey_id = excluded.prekey_id, public_key = excluded.public_key, signature = excluded.signature,
    created_at_ms = excluded.created_at_ms, cert_fingerprint = excluded.cert_fingerprint,
    key_fingerprint = excluded.key_fingerprint, stored_at = now()
