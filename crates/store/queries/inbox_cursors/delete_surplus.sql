-- Forgets the instances of an inbox beyond a number, those first that were not seen for longest.
DELETE FROM inbox_instances AS surplus
USING (
    SELECT instance.device, instance.slot FROM inbox_instances AS instance
    WHERE instance.inbox = $1 AND NOT (instance.device = $3 AND instance.slot = $4)
    ORDER BY instance.seen_on DESC, instance.device, instance.slot
    OFFSET $2
) AS oldest
WHERE surplus.inbox = $1 AND surplus.device = oldest.device AND surplus.slot = oldest.slot
