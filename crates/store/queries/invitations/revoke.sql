UPDATE invitations SET revoked_at = now()
WHERE tenant = $1 AND id = $2 AND revoked_at IS NULL AND accepted_at IS NULL
