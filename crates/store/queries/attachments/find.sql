SELECT id, tenant, owner, mime_type, size_bytes FROM attachments
WHERE id = $1 AND stored_at IS NOT NULL AND removing_since IS NULL
