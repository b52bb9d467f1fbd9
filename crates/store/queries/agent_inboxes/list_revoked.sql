-- Lists agents whose AID was revoked, the last ones first.
SELECT hosted.agent
FROM agent_inboxes AS hosted
JOIN aid_certificates AS certificate ON certificate.aid = hosted.aid AND certificate.replaced_at IS NULL
WHERE certificate.revoked_at IS NOT NULL
ORDER BY certificate.revoked_at DESC
LIMIT $1
