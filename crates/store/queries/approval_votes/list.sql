-- With the roles that the voters have now: a vote of somebody who has left, or with a revoked key, does not count.
SELECT vote.principal, vote.option_id, vote.effect, vote.content_digest, membership.role AS "role?"
FROM approval_votes AS vote
LEFT JOIN memberships AS membership ON membership.principal = vote.principal AND membership.tenant = $2
LEFT JOIN principals AS principal ON principal.id = vote.principal
WHERE vote.approval = $1 AND principal.disabled_at IS NULL
    AND NOT EXISTS (
        SELECT 1 FROM service_keys AS service_key
        WHERE service_key.principal = vote.principal AND service_key.revoked_at IS NOT NULL
    )
ORDER BY vote.created_at, vote.principal
LIMIT 1000
