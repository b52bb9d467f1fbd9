INSERT INTO attachments (id, tenant, owner, mime_type, size_bytes) VALUES ($1, $2, $3, $4, $5)
