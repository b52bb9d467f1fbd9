-- Need not be on the disk: the next use records it again.
UPDATE enrolments SET last_used_at = now()
WHERE id = $1 AND set_config('synchronous_commit', 'off', true) IS NOT NULL
