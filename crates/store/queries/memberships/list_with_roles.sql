-- People only: a quorum counts no services.
SELECT membership.principal, membership.role
FROM memberships AS membership
INNER JOIN principals ON principals.id = membership.principal
WHERE membership.tenant = $1 AND principals.disabled_at IS NULL AND principals.kind = 'person'
    AND (membership.role = ANY($2) OR membership.principal = ANY($3))
ORDER BY membership.principal
LIMIT 1000
