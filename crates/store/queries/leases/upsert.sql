INSERT INTO leases (run, runner, epoch, hold_ms, expires_at)
VALUES ($1, $2, $3, $4, now() + $4::integer * interval '1 millisecond')
ON CONFLICT (run) DO UPDATE
    SET runner = excluded.runner, epoch = excluded.epoch, hold_ms = excluded.hold_ms, expires_at = excluded.expires_at
RETURNING expires_at AS "expires_at: Timestamp"
