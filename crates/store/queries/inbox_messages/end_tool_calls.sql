-- Removes the content of calls that some device of the recipient has not confirmed. Their seqs stay. A device has confirmed what is
-- below its cursor over all senders (sender 0), or that of the sender.
WITH devices AS (
    SELECT device.inbox, coalesce(max(position.ack_seq), 0) AS confirmed
    FROM inbox_instances AS device
    LEFT JOIN inbox_cursors AS position
        ON position.inbox = device.inbox AND position.device = device.device AND position.slot = device.slot
        AND position.sender IN (0, $2)
    WHERE device.inbox = ANY($1)
    GROUP BY device.inbox, device.device, device.slot
),

delivered AS (
    SELECT own.inbox, coalesce(min(devices.confirmed), 0) AS seq
    FROM unnest($1::bigint[]) AS own (inbox)
    LEFT JOIN devices ON devices.inbox = own.inbox
    GROUP BY own.inbox
)

UPDATE inbox_messages AS call SET payload = NULL, recalled_at = now()
FROM delivered
WHERE call.inbox = delivered.inbox AND call.sender = $2 AND call.seq > delivered.seq AND call.is_tool_call
    AND call.recalled_at IS NULL AND call.expires_at > now()
