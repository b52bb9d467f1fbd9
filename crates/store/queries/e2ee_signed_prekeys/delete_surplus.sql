-- Forgets all but the newest keys of each device, and the devices beyond a number.
DELETE FROM e2ee_signed_prekeys AS surplus
USING (
    SELECT
        known.device, known.spk_id,
        row_number() OVER (PARTITION BY known.device ORDER BY known.stored_at DESC, known.spk_id) AS generation,
        dense_rank() OVER (ORDER BY newest.stored_at DESC, known.device) AS place
    FROM e2ee_signed_prekeys AS known
    INNER JOIN (
        SELECT key.device, max(key.stored_at) AS stored_at FROM e2ee_signed_prekeys AS key WHERE key.inbox = $1 GROUP BY key.device
    ) AS newest ON newest.device = known.device
    WHERE known.inbox = $1
) AS ranked
WHERE surplus.inbox = $1 AND surplus.device = ranked.device AND surplus.spk_id = ranked.spk_id
    AND (ranked.generation > $2 OR ranked.place > $3)
