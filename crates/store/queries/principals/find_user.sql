SELECT
    principals.id,
    principals.name,
    principals.is_operator,
    principals.created_at AS "created_at: Timestamp",
    principals.disabled_at AS "disabled_at: Timestamp",
    passwords.failures AS "failures?: Vec<Timestamp>"
FROM principals
LEFT JOIN passwords ON passwords.principal = principals.id
WHERE principals.id = $1 AND principals.kind = 'person'
