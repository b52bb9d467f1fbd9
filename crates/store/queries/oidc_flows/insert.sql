-- Anyone may start a sign-in, so the number of open ones is limited.
INSERT INTO oidc_flows (
    id, browser_hash, return_to, invitation, invitation_hash, cli_port, cli_challenge, expires_at
)
SELECT $1, $2, $3, $4, $5, $6, $7, $8
WHERE (SELECT count(*) FROM (SELECT FROM oidc_flows LIMIT $9) AS open) < $9
