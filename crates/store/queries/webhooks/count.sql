-- How many webhooks a tenant has, and how many of those are told about the same: an agent, or the tenant where $2 is null.
SELECT count(*) AS "all!", count(*) FILTER (WHERE followed.agent IS NOT DISTINCT FROM $2::uuid) AS "same!"
FROM webhooks
LEFT JOIN agent_webhooks AS followed ON followed.webhook = webhooks.id
WHERE webhooks.tenant = $1
