-- Moves webhooks to the end of an inbox that is not that of their agent: the owner of the AID is no member of the tenant any more. What
-- comes meanwhile is no event either if they become one again.
WITH foreign_inboxes AS MATERIALIZED (
    SELECT followed.webhook, head.last_seq
    FROM agent_webhooks AS followed
    INNER JOIN inboxes AS head ON head.id = followed.inbox
    WHERE head.last_seq > followed.read_to
        AND NOT EXISTS (
            SELECT FROM agent_inboxes AS hosted
            WHERE hosted.agent = followed.agent AND hosted.inbox = followed.inbox
        )
        AND NOT EXISTS (
            SELECT FROM agent_aids AS named
            INNER JOIN agents ON agents.id = named.agent
            INNER JOIN aids ON aids.aid = named.aid
            INNER JOIN memberships ON memberships.tenant = agents.tenant AND memberships.principal = aids.principal
            WHERE named.agent = followed.agent AND named.aid = head.aid
        )
    LIMIT $1
    FOR UPDATE OF followed SKIP LOCKED
)

UPDATE agent_webhooks AS followed
SET read_to = foreign_inboxes.last_seq
FROM foreign_inboxes
WHERE followed.webhook = foreign_inboxes.webhook
