-- No row if the storage was evicted: the session cannot continue.
UPDATE sessions SET runs = runs + 1, active_run = $2, last_run = $2, updated_at = now()
WHERE id = $1 AND storage_kind <> 'evicted'
RETURNING runs
