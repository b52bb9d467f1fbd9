SELECT
    principals.id,
    principals.name,
    principals.is_operator,
    principals.created_at AS "created_at: Timestamp",
    principals.disabled_at AS "disabled_at: Timestamp",
    passwords.failures AS "failures?: Vec<Timestamp>"
FROM principals
LEFT JOIN passwords ON passwords.principal = principals.id
WHERE principals.kind = 'person'
    AND principals.id < $1
    AND ($2::text IS NULL OR principals.name = $2)
    AND ($3::text IS NULL OR starts_with(lower(principals.name), lower($3)))
ORDER BY principals.id DESC
LIMIT $4
