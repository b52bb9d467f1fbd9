-- Starts a comparison. One with an older version is over; if it was not finished, the new one goes on at its place, so that frequent
-- versions do not keep it from the newest relations.
INSERT INTO relation_checks AS known (agent, version) VALUES ($1, $2)
ON CONFLICT (agent) DO UPDATE
SET
    version = excluded.version,
    after = CASE WHEN known.ended_at IS NULL THEN known.after END,
    began_after = CASE WHEN known.ended_at IS NULL THEN known.after END,
    has_wrapped = false,
    ended_at = NULL,
    started_at = now()
