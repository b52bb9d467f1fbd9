UPDATE enrolments SET last_used_at = now() WHERE id = $1
