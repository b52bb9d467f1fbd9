SELECT aid AS "aid!", false AS "is_hosted!" FROM agent_aids WHERE agent = $1
UNION ALL
SELECT aid AS "aid!", true AS "is_hosted!" FROM agent_inboxes WHERE agent = $1
LIMIT 1
