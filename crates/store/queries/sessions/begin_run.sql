-- None where its storage was evicted: nobody can go on with it.
UPDATE sessions SET runs = runs + 1, active_run = $2, last_run = $2, updated_at = now()
WHERE id = $1 AND storage_kind <> 'evicted'
RETURNING runs
