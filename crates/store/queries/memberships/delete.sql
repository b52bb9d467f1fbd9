DELETE FROM memberships WHERE tenant = $1 AND principal = $2
