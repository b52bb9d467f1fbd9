-- No row if the session has an open run, or its storage was evicted. Whoever changes an open run locks it before its session, so a new
-- run must not wait for it while it holds the session.
UPDATE sessions SET runs = runs + 1, active_run = $2, last_run = $2, updated_at = now()
WHERE id = $1 AND storage_kind <> 'evicted' AND active_run IS NULL
RETURNING runs
