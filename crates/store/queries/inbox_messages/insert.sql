-- Stores durable messages ($1 to $11, $17) and moves the heads of inboxes ($12, $13) and of their senders ($14 to $16). The caller holds the
-- locks of the heads.
WITH moved AS (
    UPDATE inboxes AS head SET last_seq = next.last_seq
    FROM unnest($12::bigint[], $13::bigint[]) AS next (inbox, last_seq)
    WHERE head.id = next.inbox
),

senders AS (
    INSERT INTO inbox_senders AS known (inbox, sender, head_seq, active_on)
    SELECT next.inbox, next.sender, next.head_seq, ($10::timestamptz AT TIME ZONE 'UTC')::date
    FROM unnest($14::bigint[], $15::bigint[], $16::bigint[]) AS next (inbox, sender, head_seq)
    ON CONFLICT (inbox, sender) DO UPDATE SET head_seq = excluded.head_seq, active_on = excluded.active_on
)

INSERT INTO inbox_messages (
    inbox, seq, sender, recipient, message_id, kind, envelope_type, previous_seq, payload, sent_at, expires_at,
    relation
)
SELECT sent.inbox, sent.seq, sent.sender, sent.recipient, sent.message_id, sent.kind, sent.envelope_type, sent.previous_seq, sent.payload, $10, $11,
    sent.relation
FROM unnest(
    $1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[], $6::text[], $7::text[], $8::bigint[], $9::text[],
    $17::uuid[]
) AS sent (inbox, seq, sender, recipient, message_id, kind, envelope_type, previous_seq, payload, relation)
