INSERT INTO used_login_nonces (nonce_hash, expires_at) VALUES ($1, $2) ON CONFLICT DO NOTHING
