SELECT
    passwords.principal,
    passwords.hash,
    passwords.failures AS "failures: Vec<Timestamp>"
FROM passwords
INNER JOIN principals ON principals.id = passwords.principal
WHERE passwords.name = $1 AND principals.disabled_at IS NULL
FOR UPDATE OF passwords
