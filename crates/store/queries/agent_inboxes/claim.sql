-- Claims inboxes in which an agent has not read everything: some of them, or any where $1 is null. $2 and $3 are the instance of
-- agents, for which every inbox has one cursor. An agent whose AID was revoked reads no more.
WITH unread AS (
    SELECT hosted.agent, coalesce(position.ack_seq, 0) AS read_to
    FROM agent_inboxes AS hosted
    JOIN inboxes AS head ON head.id = hosted.inbox
    LEFT JOIN inbox_cursors AS position
        ON position.inbox = hosted.inbox AND position.device = $2 AND position.slot = $3 AND position.sender = 0
    WHERE ($1::bigint[] IS NULL OR hosted.inbox = ANY($1))
        AND head.last_seq > coalesce(position.ack_seq, 0)
        AND hosted.claimed_until <= now()
        AND NOT EXISTS (
            SELECT FROM aid_certificates AS certificate
            WHERE certificate.aid = hosted.aid AND certificate.replaced_at IS NULL AND certificate.revoked_at IS NOT NULL
        )
    ORDER BY hosted.claimed_until
    LIMIT $4
    FOR UPDATE OF hosted SKIP LOCKED
)

UPDATE agent_inboxes AS claimed SET claimed_until = now() + $5::float8 * interval '1 second'
FROM unread
JOIN agents ON agents.id = unread.agent
WHERE claimed.agent = unread.agent
RETURNING claimed.agent, agents.tenant, claimed.inbox, claimed.aid, claimed.senders, unread.read_to AS "read_to!"
