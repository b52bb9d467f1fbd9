INSERT INTO passwords (name, principal, hash) VALUES ($1, $2, $3) ON CONFLICT (name) DO NOTHING
