INSERT INTO replicas (id, version, started_at, seen_at)
VALUES ($1, $2, $3, now())
ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at
