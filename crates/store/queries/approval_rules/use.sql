UPDATE approval_rules SET used = used + 1, uses_left = uses_left - 1 WHERE id = $1
