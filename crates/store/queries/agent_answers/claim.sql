-- Claims answers whose turn has ended: some of them, or any where $1 is null. Not those of agents whose AID was revoked.
WITH ended AS (
    SELECT answer.command
    FROM agent_answers AS answer
    JOIN commands ON commands.id = answer.command
    WHERE ($1::uuid[] IS NULL OR answer.command = ANY($1))
        AND commands.ended_at IS NOT NULL
        AND answer.claimed_until <= now()
        AND NOT EXISTS (
            SELECT FROM agent_inboxes AS hosted
            JOIN aid_certificates AS certificate ON certificate.aid = hosted.aid AND certificate.replaced_at IS NULL
            WHERE hosted.agent = answer.agent AND certificate.revoked_at IS NOT NULL
        )
    ORDER BY answer.created_at
    LIMIT $2
    FOR UPDATE OF answer SKIP LOCKED
)

UPDATE agent_answers AS claimed SET claimed_until = now() + $3::float8 * interval '1 second'
FROM ended
JOIN commands ON commands.id = ended.command
CROSS JOIN agent_inboxes AS hosted
JOIN agents ON agents.id = hosted.agent
CROSS JOIN inboxes AS recipient
WHERE claimed.command = ended.command AND hosted.agent = claimed.agent AND recipient.id = claimed.recipient
RETURNING
    claimed.command, commands.run, hosted.agent, agents.tenant, hosted.inbox, hosted.aid,
    recipient.aid AS recipient, claimed.message_id, claimed.message_kind
