-- Locks a webhook, until the end of the transaction, if it has not read its inbox to the end and no other worker reads for it. The
-- inbox must still be that of the agent: one with a key of its own speaks as long as the owner of the AID is a member of its
-- tenant.
SELECT
    followed.webhook,
    followed.agent,
    followed.inbox AS "inbox!",
    followed.read_to,
    head.last_seq,
    webhooks.events
FROM agent_webhooks AS followed
INNER JOIN inboxes AS head ON head.id = followed.inbox
INNER JOIN webhooks ON webhooks.id = followed.webhook
WHERE followed.webhook = $1
    AND head.last_seq > followed.read_to
    AND (
        EXISTS (
            SELECT FROM agent_inboxes AS hosted
            WHERE hosted.agent = followed.agent AND hosted.inbox = followed.inbox
        )
        OR EXISTS (
            SELECT FROM agent_aids AS named
            INNER JOIN agents ON agents.id = named.agent
            INNER JOIN aids ON aids.aid = named.aid
            INNER JOIN memberships ON memberships.tenant = agents.tenant AND memberships.principal = aids.principal
            WHERE named.agent = followed.agent AND named.aid = head.aid
        )
    )
FOR UPDATE OF followed SKIP LOCKED
