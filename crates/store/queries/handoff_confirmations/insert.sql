INSERT INTO handoff_confirmations (id, browser_hash, principal, cli_port, cli_challenge, expires_at)
VALUES ($1, $2, $3, $4, $5, $6)
