INSERT INTO outbox (id, kind, body) VALUES ($1, $2, $3)
