-- The consent under which a tool was called. It finds the calls of a relation whatever AID the agent had when it sent them.
-- `is_tool_call` is not used any more; a later version removes it.
ALTER TABLE inbox_messages ADD COLUMN relation uuid;

-- Indexes the calls of the next partitions. Those that exist are searched by inbox, until they have expired.
CREATE OR REPLACE FUNCTION create_message_partitions(days_ahead integer, days_each integer) RETURNS void
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
        EXECUTE format('CREATE INDEX ON %I (relation) WHERE relation IS NOT NULL', part);
        EXECUTE format(
            'ALTER TABLE inbox_messages ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', part, starts_at, ends_at
        );
        starts_at := ends_at;
    END LOOP;
END
$$;

-- Where nobody has an inbox yet, the partitions are empty.
DO $$
DECLARE
    part regclass;
BEGIN
    IF NOT EXISTS (SELECT FROM inboxes) THEN
        FOR part IN SELECT inhrelid::regclass FROM pg_inherits WHERE inhparent = 'inbox_messages'::regclass LOOP
            EXECUTE format('CREATE INDEX ON %s (relation) WHERE relation IS NOT NULL', part);
        END LOOP;
    END IF;
END
$$;
