-- Some minutes later: the clocks of replicas differ.
DELETE FROM used_login_nonces
WHERE nonce_hash IN (
    SELECT nonce_hash FROM used_login_nonces
    WHERE expires_at < $1::timestamptz - interval '10 minutes' ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED
)
