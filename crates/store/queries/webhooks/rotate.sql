-- The secret before the previous one stops to sign.
UPDATE webhooks
SET sealed_previous_secret = sealed_secret, previous_secret_ends_at = $4, sealed_secret = $3
WHERE tenant = $1 AND id = $2
