-- Lists the AIDs of agents whose certificate ends soon.
SELECT hosted.aid
FROM agent_inboxes AS hosted
JOIN aid_certificates AS certificate ON certificate.aid = hosted.aid AND certificate.replaced_at IS NULL
WHERE certificate.not_after < $1 AND certificate.revoked_at IS NULL
ORDER BY certificate.not_after
LIMIT $2
