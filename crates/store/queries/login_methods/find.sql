SELECT
    login_methods.principal,
    principals.disabled_at IS NOT NULL AS "is_disabled!"
FROM login_methods
INNER JOIN principals ON principals.id = login_methods.principal
WHERE login_methods.issuer = $1 AND login_methods.subject = $2
