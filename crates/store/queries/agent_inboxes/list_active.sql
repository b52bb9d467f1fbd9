-- Lists agents whose AID has not ended, by id.
SELECT hosted.agent
FROM agent_inboxes AS hosted
JOIN aid_certificates AS certificate ON certificate.aid = hosted.aid AND certificate.replaced_at IS NULL
WHERE hosted.agent > $1 AND certificate.revoked_at IS NULL AND hosted.sealed_key = ''
ORDER BY hosted.agent
LIMIT $2
