-- Partitions of messages for some days of expiry each: few days if messages are kept briefly, more otherwise. A message is looked for
-- in all partitions that have not expired, so a send costs time for each of them.
CREATE FUNCTION create_message_partitions(days_ahead integer, days_each integer) RETURNS void
LANGUAGE plpgsql
AS $$
DECLARE
    starts_at timestamptz;
    ends_at timestamptz;
    part text;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtext('create_message_partitions'));
    SELECT max((regexp_match(pg_get_expr(child.relpartbound, child.oid), 'TO \(''([^'']+)''\)'))[1]::timestamptz)
    INTO starts_at
    FROM pg_inherits AS inherits
    INNER JOIN pg_class AS child ON child.oid = inherits.inhrelid
    WHERE inherits.inhparent = 'inbox_messages'::regclass;
    starts_at := greatest(starts_at, date_trunc('day', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC');
    WHILE starts_at <= now() + days_ahead * interval '1 day' LOOP
        ends_at := starts_at + days_each * interval '24 hours';
        part := 'inbox_messages_' || to_char(starts_at AT TIME ZONE 'UTC', 'YYYYMMDD');
        EXECUTE format('CREATE TABLE %I (LIKE inbox_messages INCLUDING ALL)', part);
        EXECUTE format(
            'ALTER TABLE inbox_messages ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', part, starts_at, ends_at
        );
        starts_at := ends_at;
    END LOOP;
END
$$;

-- For replicas of earlier versions.
CREATE OR REPLACE FUNCTION create_message_partitions(days integer) RETURNS void
LANGUAGE sql
AS $$ SELECT create_message_partitions(days, 1) $$;

-- Where nobody has an inbox yet, the partitions of an earlier migration are empty. A server creates those that it needs.
DO $$
DECLARE
    part regclass;
BEGIN
    IF NOT EXISTS (SELECT FROM inboxes) THEN
        FOR part IN SELECT inhrelid::regclass FROM pg_inherits WHERE inhparent = 'inbox_messages'::regclass LOOP
            EXECUTE format('DROP TABLE %s', part);
        END LOOP;
    END IF;
END
$$;

SELECT create_message_partitions(4, 1);

-- Locks the heads of inboxes in the order of their ids, as every sender does, and then finds for each message to send the last seq of
-- its sender in that inbox, and the same message if it was stored before. One call: a send waits for each of its answers. The second
-- query sees what was committed while the first one waited, because the function is volatile. A plan for any values is as good as one
-- for these, and saves the time to plan.
--
-- A row is a head (without a place) or what is known of a message.
CREATE FUNCTION lock_inboxes_and_find_sent(inboxes bigint[], senders bigint[], message_ids text[])
RETURNS TABLE (
    place bigint, locked_inbox bigint, last_seq bigint, locked_at timestamptz, head_seq bigint, seq bigint, sent_at timestamptz, kind text,
    payload text
)
LANGUAGE plpgsql
VOLATILE
SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
DECLARE
    unexpired_at timestamptz;
BEGIN
    RETURN QUERY
    SELECT
        NULL::bigint, head.id, head.last_seq, date_trunc('milliseconds', clock_timestamp()), NULL::bigint, NULL::bigint,
        NULL::timestamptz, NULL::text, NULL::text
    FROM inboxes AS head
    WHERE head.id = ANY(inboxes)
    ORDER BY head.id
    FOR UPDATE;

    unexpired_at := date_trunc('milliseconds', clock_timestamp());
    RETURN QUERY
    SELECT
        sent.place,
        NULL::bigint,
        NULL::bigint,
        NULL::timestamptz,
        head.head_seq,
        coalesce(stored.seq, waiting.seq),
        coalesce(stored.sent_at, waiting.sent_at),
        coalesce(stored.kind, waiting.kind),
        coalesce(stored.payload, waiting.payload)
    FROM unnest(inboxes, senders, message_ids) WITH ORDINALITY AS sent (inbox, sender, message_id, place)
    LEFT JOIN inbox_senders AS head ON head.inbox = sent.inbox AND head.sender = sent.sender
    LEFT JOIN LATERAL (
        SELECT message.seq, message.sent_at, message.kind, message.payload
        FROM inbox_messages AS message
        WHERE message.message_id = sent.message_id AND message.sender = sent.sender AND message.inbox = sent.inbox
            AND message.expires_at > unexpired_at
        LIMIT 1
    ) AS stored ON true
    LEFT JOIN LATERAL (
        SELECT ring.seq, ring.sent_at, ring.kind, ring.payload
        FROM ring_messages AS ring
        WHERE ring.inbox = sent.inbox AND ring.sender = sent.sender AND ring.message_id = sent.message_id
        LIMIT 1
    ) AS waiting ON true;
END
$$;
