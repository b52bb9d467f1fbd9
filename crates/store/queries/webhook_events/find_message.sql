-- The payload of a message that has not expired; null when it was recalled. Whether its inbox is still that of the agent of the
-- webhook ($3): one with a key of its own speaks as long as the owner of the AID is a member of its tenant.
SELECT
    message.payload,
    EXISTS (
        SELECT FROM agent_webhooks AS followed
        INNER JOIN inboxes AS head ON head.id = message.inbox
        WHERE followed.webhook = $3
            AND (
                EXISTS (
                    SELECT FROM agent_inboxes AS hosted
                    WHERE hosted.agent = followed.agent AND hosted.inbox = head.id
                )
                OR EXISTS (
                    SELECT FROM agent_aids AS named
                    INNER JOIN agents ON agents.id = named.agent
                    INNER JOIN aids ON aids.aid = named.aid
                    INNER JOIN memberships
                        ON memberships.tenant = agents.tenant AND memberships.principal = aids.principal
                    WHERE named.agent = followed.agent AND named.aid = head.aid
                )
            )
    ) AS "is_of_agent!"
FROM inbox_messages AS message
WHERE message.inbox = $1 AND message.seq = $2 AND message.expires_at > now()
