-- Points webhooks at the inbox that their agent has now, answered by this server or elsewhere. They are told about messages that were
-- sent since both exist: the webhook, and the AID as that of the agent. An agent with a key of its own speaks as long as the owner of
-- the AID is a member of its tenant. Webhooks that another worker has locked wait for the next round.
WITH current AS MATERIALIZED (
    SELECT followed.webhook, own.inbox, greatest(webhooks.created_at, own.since) AS since
    FROM agent_webhooks AS followed
    INNER JOIN webhooks ON webhooks.id = followed.webhook
    INNER JOIN LATERAL (
        SELECT hosted.inbox, hosted.created_at AS since
        FROM agent_inboxes AS hosted
        WHERE hosted.agent = followed.agent
        UNION ALL
        SELECT opened.id, named.created_at
        FROM agent_aids AS named
        INNER JOIN inboxes AS opened ON opened.aid = named.aid
        INNER JOIN agents ON agents.id = named.agent
        INNER JOIN aids ON aids.aid = named.aid
        INNER JOIN memberships ON memberships.tenant = agents.tenant AND memberships.principal = aids.principal
        WHERE named.agent = followed.agent
        LIMIT 1
    ) AS own ON true
    WHERE followed.inbox IS DISTINCT FROM own.inbox
    LIMIT $1
    FOR UPDATE OF followed SKIP LOCKED
)

UPDATE agent_webhooks AS followed
SET
    inbox = current.inbox,
    read_to = coalesce(
        (
            SELECT min(message.seq) - 1
            FROM inbox_messages AS message
            WHERE message.inbox = current.inbox AND message.sent_at >= current.since AND message.expires_at > now()
        ),
        (SELECT head.last_seq FROM inboxes AS head WHERE head.id = current.inbox)
    )
FROM current
WHERE followed.webhook = current.webhook
