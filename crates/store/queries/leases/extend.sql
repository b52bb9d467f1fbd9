UPDATE leases SET expires_at = now() + hold_ms * interval '1 millisecond' WHERE run = $1 AND epoch = $2
RETURNING expires_at AS "expires_at: Timestamp"
