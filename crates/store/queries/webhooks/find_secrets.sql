SELECT
    sealed_secret,
    sealed_previous_secret,
    previous_secret_ends_at AS "previous_secret_ends_at: Timestamp"
FROM webhooks
WHERE tenant = $1 AND id = $2
