INSERT INTO signing_keys (id, public_key, sealed_private_key, created_at, signs_from, signs_until, verifies_until)
VALUES ($1, $2, $3, $4, $5, $6, $7)
