INSERT INTO invitations (id, tenant, role, note, hash, invited_by, expires_at) VALUES ($1, $2, $3, $4, $5, $6, $7)
