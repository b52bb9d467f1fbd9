-- Webhooks that have not read their inbox to the end, without those of $1. Those that waited longest come first.
SELECT followed.webhook
FROM agent_webhooks AS followed
INNER JOIN inboxes AS head ON head.id = followed.inbox
WHERE head.last_seq > followed.read_to AND followed.webhook <> ALL($1)
ORDER BY followed.read_at NULLS FIRST, followed.webhook
LIMIT $2
