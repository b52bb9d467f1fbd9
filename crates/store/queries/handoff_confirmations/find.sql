SELECT
    principals.name,
    waiting.principal,
    waiting.cli_port,
    waiting.cli_challenge,
    waiting.expires_at AS "expires_at: Timestamp"
FROM handoff_confirmations AS waiting
INNER JOIN principals ON principals.id = waiting.principal
WHERE waiting.id = $1 AND waiting.browser_hash = $2 AND principals.disabled_at IS NULL
