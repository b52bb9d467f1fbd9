-- The canary turns of provider profiles appear in the full list only.
SELECT id FROM runs
WHERE tenant = $1 AND id < $2 AND ($3::boolean OR state <> 'ended')
    AND ($3::boolean OR NOT EXISTS (SELECT 1 FROM profile_validations AS validation WHERE validation.run = runs.id))
ORDER BY id DESC
LIMIT $4
