UPDATE sessions
SET
    active_run = $2, active_command = $3, running = $3::uuid IS NOT NULL, version = version + $4,
    thread_id = coalesce($5, thread_id), updated_at = now()
WHERE id = $1
