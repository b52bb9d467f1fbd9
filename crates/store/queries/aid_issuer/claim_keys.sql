-- A key that the replica does not have matches any.
UPDATE aid_issuer
SET log_key = coalesce(log_key, $3), trust_key = coalesce(trust_key, $4)
WHERE name = $1 AND root_fingerprint = $2
RETURNING
    coalesce(log_key = $3, true) AND coalesce(trust_key = $4, true) AS "matches!"
