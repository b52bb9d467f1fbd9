UPDATE sessions
SET active_run = $2, active_command = $3, running = $4, version = version + $5, updated_at = now()
WHERE id = $1
