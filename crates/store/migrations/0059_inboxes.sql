-- The inbox of an AID. Its row is the head of the inbox: every sender locks it first, so that seq order is commit order.
CREATE TABLE inboxes (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    aid text NOT NULL UNIQUE REFERENCES aids (aid),
    last_seq bigint NOT NULL DEFAULT 0 CHECK (last_seq >= 0),
    -- Messages that the ring ever got. Those that are not in it any more were dropped, also by a crash of PostgreSQL.
    ring_total bigint NOT NULL DEFAULT 0 CHECK (ring_total >= 0)
) WITH (fillfactor = 50);

-- Durable messages, one partition for each day of expiry, dropped when it is over. No foreign keys: inboxes are never deleted,
-- and their rows are locked by every insert as it is.
CREATE TABLE inbox_messages (
    inbox bigint NOT NULL,
    seq bigint NOT NULL CHECK (seq > 0),
    sender bigint NOT NULL,
    -- The recipient that the sender named, where it is not the owner of the inbox: a copy of an own message.
    recipient bigint,
    message_id text NOT NULL,
    kind text NOT NULL,
    envelope_type text NOT NULL,
    -- The last durable message of the same sender before this one.
    previous_seq bigint NOT NULL,
    sent_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    -- JSON as it was sent; null when it was recalled.
    payload text,
    recalled_at timestamptz,
    CHECK ((payload IS NULL) = (recalled_at IS NOT NULL))
) PARTITION BY RANGE (expires_at);

CREATE INDEX inbox_messages_by_seq ON inbox_messages (inbox, seq);
CREATE INDEX inbox_messages_by_sender ON inbox_messages (inbox, sender, seq);
-- Repeated sends, and recalls.
CREATE INDEX inbox_messages_by_id ON inbox_messages (message_id, sender, inbox);

-- Messages for one instance, kept for minutes. Not logged: a crash of PostgreSQL empties it, as the protocol allows.
CREATE UNLOGGED TABLE ring_messages (
    inbox bigint NOT NULL,
    seq bigint NOT NULL,
    sender bigint NOT NULL,
    message_id text NOT NULL,
    kind text NOT NULL,
    envelope_type text NOT NULL,
    sent_at timestamptz NOT NULL,
    payload text NOT NULL,
    -- The instance that gets it; null until there is one.
    device text,
    slot text,
    PRIMARY KEY (inbox, seq)
);

CREATE INDEX ring_messages_by_age ON ring_messages (sent_at);

-- The last durable message of each sender in an inbox.
CREATE TABLE inbox_senders (
    inbox bigint NOT NULL,
    sender bigint NOT NULL,
    head_seq bigint NOT NULL,
    -- The day of that message. A day, so that most updates touch no index.
    active_on date NOT NULL,
    PRIMARY KEY (inbox, sender)
) WITH (fillfactor = 70);

CREATE INDEX inactive_inbox_senders ON inbox_senders (active_on);

-- The clients of an AID that have read its inbox.
CREATE TABLE inbox_instances (
    inbox bigint NOT NULL,
    device text NOT NULL,
    slot text NOT NULL,
    seen_on date NOT NULL,
    PRIMARY KEY (inbox, device, slot)
);

CREATE INDEX unused_inbox_instances ON inbox_instances (seen_on);

-- How far a client has confirmed: over all senders (sender 0), or for one.
CREATE TABLE inbox_cursors (
    inbox bigint NOT NULL,
    device text NOT NULL,
    slot text NOT NULL,
    sender bigint NOT NULL,
    ack_seq bigint NOT NULL CHECK (ack_seq >= 0),
    PRIMARY KEY (inbox, device, slot, sender),
    FOREIGN KEY (inbox, device, slot) REFERENCES inbox_instances (inbox, device, slot) ON DELETE CASCADE
) WITH (fillfactor = 70);

-- Public keys of devices for end-to-end encryption, first version: the newest of each device.
CREATE TABLE e2ee_prekeys (
    inbox bigint NOT NULL,
    device text NOT NULL,
    prekey_id text NOT NULL,
    public_key text NOT NULL,
    signature text NOT NULL,
    created_at_ms bigint,
    cert_fingerprint text,
    -- SHA-256 of the key of the AID that signed it. After another key it counts no more.
    key_fingerprint bytea NOT NULL CHECK (octet_length(key_fingerprint) = 32),
    stored_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (inbox, device)
);

CREATE INDEX e2ee_prekeys_by_age ON e2ee_prekeys (stored_at);

-- The same for the second version: the newest few of each device, because senders remember keys for an hour.
CREATE TABLE e2ee_signed_prekeys (
    inbox bigint NOT NULL,
    device text NOT NULL,
    spk_id text NOT NULL,
    public_key text NOT NULL,
    signature text NOT NULL,
    signed_at bigint NOT NULL,
    key_fingerprint bytea NOT NULL CHECK (octet_length(key_fingerprint) = 32),
    stored_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (inbox, device, spk_id)
);

CREATE INDEX e2ee_signed_prekeys_by_age ON e2ee_signed_prekeys (stored_at);

-- Creates the partitions for messages that expire on the next days. A table is created beside its parent and attached: nobody
-- waits for a lock on the parent.
CREATE FUNCTION create_message_partitions(days integer) RETURNS void
LANGUAGE plpgsql
AS $$
DECLARE
    first timestamptz := date_trunc('day', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC';
    morning timestamptz;
    part text;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtext('create_message_partitions'));
    FOR day IN 0 .. days LOOP
        morning := first + day * interval '1 day';
        part := 'inbox_messages_' || to_char(morning AT TIME ZONE 'UTC', 'YYYYMMDD');
        IF to_regclass(part) IS NULL THEN
            EXECUTE format('CREATE TABLE %I (LIKE inbox_messages INCLUDING ALL)', part);
            EXECUTE format(
                'ALTER TABLE inbox_messages ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)',
                part, morning, morning + interval '1 day'
            );
        END IF;
    END LOOP;
END
$$;

SELECT create_message_partitions(40);
