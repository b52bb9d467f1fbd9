INSERT INTO e2ee_signed_prekeys AS known (inbox, device, spk_id, public_key, signature, signed_at, key_fingerprint)
VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (inbox, device, spk_id) DO UPDATE SET
    public_key = excluded.public_key, signature = excluded.signature, signed_at = excluded.signed_at,
    key_fingerprint = excluded.key_fingerprint, stored_at = now()
