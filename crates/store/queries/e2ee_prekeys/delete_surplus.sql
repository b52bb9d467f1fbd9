-- Forgets the prekeys of an inbox beyond a number of devices, the oldest first.
DELETE FROM e2ee_prekeys AS surplus
USING (
    SELECT known.device FROM e2ee_prekeys AS known WHERE known.inbox = $1 ORDER BY known.stored_at DESC, known.device OFFSET $2
) AS oldest
WHERE surplus.inbox = $1 AND surplus.device = oldest.device
