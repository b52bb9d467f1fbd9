-- A disabled principal gets no login. The lock makes a concurrent disable wait, so that it ends this login too.
INSERT INTO logins (id, principal, kind, current_hash, last_rotated_at, expires_at)
SELECT $1, principals.id, $3, $4, $5, $6
FROM principals
WHERE principals.id = $2 AND principals.disabled_at IS NULL
FOR SHARE
