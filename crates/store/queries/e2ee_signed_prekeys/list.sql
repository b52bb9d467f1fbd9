-- The keys of an inbox that its present key has signed, those of a device together, the newest first.
SELECT device, spk_id, public_key, signature, signed_at
FROM e2ee_signed_prekeys
WHERE inbox = $1 AND key_fingerprint = $2 AND stored_at > $3
ORDER BY device, stored_at DESC, spk_id
