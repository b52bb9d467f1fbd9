INSERT INTO aid_issuer (name, root_fingerprint) VALUES ($1, $2) ON CONFLICT DO NOTHING
