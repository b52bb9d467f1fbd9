-- The agent that speaks with an AID. One with a key of its own does so as long as the owner of the AID is a member of its tenant.
SELECT named.agent AS "agent!"
FROM agent_aids AS named
JOIN agents ON agents.id = named.agent
JOIN aids ON aids.aid = named.aid
JOIN memberships ON memberships.tenant = agents.tenant AND memberships.principal = aids.principal
WHERE named.aid = $1
UNION ALL
SELECT hosted.agent AS "agent!" FROM agent_inboxes AS hosted WHERE hosted.aid = $1
LIMIT 1
