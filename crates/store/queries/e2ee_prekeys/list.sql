-- The prekeys of an inbox that its present key has signed, the newest first.
SELECT device, prekey_id, public_key, signature, created_at_ms, cert_fingerprint
FROM e2ee_prekeys
WHERE inbox = $1 AND key_fingerprint = $2 AND stored_at > $3
ORDER BY stored_at DESC, device
LIMIT $4
