-- The inbox of an agent, and those of a user.
SELECT
    own.id AS "inbox!",
    (
        SELECT inboxes.id FROM inboxes
        WHERE inboxes.aid = coalesce(
            (SELECT aid FROM agent_aids WHERE agent = $1), (SELECT aid FROM agent_inboxes WHERE agent = $1)
        )
    ) AS sender
FROM aids
JOIN inboxes AS own ON own.aid = aids.aid
WHERE aids.principal = $2
