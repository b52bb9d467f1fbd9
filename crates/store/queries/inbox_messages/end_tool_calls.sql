-- Removes the content of calls under a relation ($2) that some device of the recipient ($1) has not confirmed, whatever AID they came
-- from. Their seqs stay. A device has confirmed what is below its cursor over all senders (sender 0), or that of the sender.
WITH calls AS MATERIALIZED (
    SELECT message.inbox, message.seq, message.sender, message.expires_at
    FROM inbox_messages AS message
    WHERE message.relation = $2 AND message.inbox = ANY($1) AND message.recalled_at IS NULL AND message.expires_at > now()
),

senders AS (
    SELECT DISTINCT inbox, sender FROM calls
),

devices AS (
    SELECT senders.inbox, senders.sender, coalesce(max(position.ack_seq), 0) AS confirmed
    FROM senders
    JOIN inbox_instances AS device ON device.inbox = senders.inbox
    LEFT JOIN inbox_cursors AS position
        ON position.inbox = device.inbox AND position.device = device.device AND position.slot = device.slot
        AND position.sender IN (0, senders.sender)
    GROUP BY senders.inbox, senders.sender, device.device, device.slot
),

delivered AS (
    SELECT senders.inbox, senders.sender, coalesce(min(devices.confirmed), 0) AS seq
    FROM senders
    LEFT JOIN devices ON devices.inbox = senders.inbox AND devices.sender = senders.sender
    GROUP BY senders.inbox, senders.sender
)

UPDATE inbox_messages AS call SET payload = NULL, recalled_at = now()
FROM calls
JOIN delivered ON delivered.inbox = calls.inbox AND delivered.sender = calls.sender
WHERE call.inbox = calls.inbox AND call.seq = calls.seq AND call.expires_at = calls.expires_at AND calls.seq > delivered.seq
