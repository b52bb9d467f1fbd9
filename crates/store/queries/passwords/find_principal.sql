SELECT passwords.principal
FROM passwords
INNER JOIN principals ON principals.id = passwords.principal
WHERE passwords.name = $1 AND principals.disabled_at IS NULL
