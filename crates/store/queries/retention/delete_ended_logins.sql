WITH old AS (
    SELECT id FROM logins
    WHERE id > $1 AND id < journal_run_bound($2) AND least(revoked_at, expires_at) < $2
    ORDER BY id
    LIMIT $3
)
DELETE FROM logins USING old WHERE logins.id = old.id
RETURNING old.id AS "id!"
