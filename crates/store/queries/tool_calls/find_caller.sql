-- Finds the agent that speaks with an AID ($1), if the owner of an inbox ($2) has an active relation with it. An agent with a key of
-- its own speaks as long as the owner of the AID is a member of its tenant.
SELECT relation.agent, relation.id
FROM inboxes AS recipient
JOIN aids AS owned ON owned.aid = recipient.aid
JOIN relations AS relation ON relation.principal = owned.principal AND relation.ended_at IS NULL
WHERE recipient.id = $2
    AND relation.agent IN (
        SELECT named.agent
        FROM agent_aids AS named
        JOIN agents ON agents.id = named.agent
        JOIN aids ON aids.aid = named.aid
        JOIN memberships ON memberships.tenant = agents.tenant AND memberships.principal = aids.principal
        WHERE named.aid = $1
        UNION ALL
        SELECT hosted.agent FROM agent_inboxes AS hosted WHERE hosted.aid = $1
    )
