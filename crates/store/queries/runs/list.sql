SELECT id FROM runs
WHERE tenant = $1 AND id < $2 AND ($3::boolean OR state <> 'ended')
ORDER BY id DESC
LIMIT $4
