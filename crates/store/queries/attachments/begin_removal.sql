-- Those that no session uses any more, that none has used for a time, whose upload did not end, and whose removal was
-- interrupted. A row is claimed by one replica.
UPDATE attachments SET removing_since = now()
WHERE id IN (
    SELECT id FROM attachments
    WHERE session_count = 0
        AND (
            removing_since < now() - make_interval(secs => $3)
            OR (removing_since IS NULL AND stored_at IS NOT NULL AND (is_used OR created_at < now() - make_interval(secs => $1)))
            OR (removing_since IS NULL AND stored_at IS NULL AND created_at < now() - make_interval(secs => $2))
        )
    ORDER BY created_at
    LIMIT $4
    FOR UPDATE SKIP LOCKED
)
RETURNING id, tenant
