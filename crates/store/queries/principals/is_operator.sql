SELECT EXISTS (
    SELECT FROM principals WHERE id = $1 AND is_operator AND disabled_at IS NULL
) AS "exists!"
