INSERT INTO commands (id, run, ordinal, kind, payload, sealed_payload, target, created_by)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
