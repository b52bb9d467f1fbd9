-- Of two concurrent callbacks of one sign-in, one gets the row.
DELETE FROM oidc_flows
WHERE id = $1 AND browser_hash = $2
RETURNING
    return_to,
    invitation,
    invitation_hash,
    cli_port,
    cli_challenge,
    expires_at AS "expires_at: Timestamp"
