DELETE FROM oidc_flows
WHERE id IN (SELECT id FROM oidc_flows WHERE expires_at < now() LIMIT $1 FOR UPDATE SKIP LOCKED)
