INSERT INTO webhooks (id, tenant, url, events, description, sealed_secret, created_by)
VALUES ($1, $2, $3, $4, $5, $6, $7)
RETURNING created_at AS "created_at: Timestamp"
