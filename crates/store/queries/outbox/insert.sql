INSERT INTO outbox (id, kind, tenant, body) VALUES ($1, $2, $3, $4)
