-- Anyone may start a sign-in, so the number of open ones is limited, for one client and in all.
WITH open AS (
    SELECT
        (SELECT count(*) FROM (SELECT FROM oidc_flows LIMIT $10) AS every) < $10 AS has_room,
        (
            SELECT count(*)
            FROM (SELECT FROM oidc_flows WHERE client = $9 AND expires_at > now() LIMIT $11) AS own
        ) < $11 AS client_has_room
),
inserted AS (
    INSERT INTO oidc_flows (
        id, browser_hash, return_to, invitation, invitation_hash, cli_port, cli_challenge, expires_at, client
    )
    SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9
    FROM open
    WHERE has_room AND client_has_room
)
SELECT has_room AS "has_room!", client_has_room AS "client_has_room!"
FROM open
