UPDATE invitations SET accepted_at = now(), accepted_by = $2 WHERE id = $1
