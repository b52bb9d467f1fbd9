-- The rows that a change of a membership depends on: those of the actor, of the member, and of every owner. The order
-- avoids deadlocks.
SELECT memberships.principal, memberships.role
FROM memberships
WHERE memberships.tenant = $1
    AND (memberships.principal IN ($2, $3) OR memberships.role = 'owner')
ORDER BY memberships.principal
FOR UPDATE
