-- Not while a run is open: its backend uses the storage.
UPDATE sessions
SET storage_kind = 'evicted', storage_evicted_at = now()
WHERE id = $1 AND storage_kind <> 'evicted' AND active_run IS NULL
