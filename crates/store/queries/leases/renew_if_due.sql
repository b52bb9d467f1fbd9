-- Renewed after a fifth of the lease time, so that a busy runner does not update this row with every append.
UPDATE leases
SET expires_at = now() + hold_ms * interval '1 millisecond'
WHERE run = $1 AND epoch = $2 AND expires_at < now() + hold_ms * interval '0.8 milliseconds'
