-- A webhook of an agent: it is told about messages to the agent. Those without a row here are told about the questions of the tenant.
CREATE TABLE agent_webhooks (
    webhook uuid PRIMARY KEY REFERENCES webhooks (id) ON DELETE CASCADE,
    agent uuid NOT NULL REFERENCES agents (id),
    -- The inbox that is followed, once the agent has an AID, and how far it was read.
    inbox bigint REFERENCES inboxes (id),
    read_to bigint NOT NULL DEFAULT 0 CHECK (read_to >= 0),
    -- A listener: no server sends its events, a program asks for them. When it last did.
    polled_at timestamptz
);

CREATE INDEX agent_webhooks_of_agent ON agent_webhooks (agent);
CREATE INDEX agent_webhooks_of_inbox ON agent_webhooks (inbox);

-- Since when all attempts have failed; null after a success.
ALTER TABLE webhooks ADD COLUMN failing_since timestamptz;

-- The events of webhooks: those to send, and for some time those that were sent or missed.
CREATE TABLE webhook_events (
    -- The order of the events of a webhook.
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    webhook uuid NOT NULL REFERENCES webhooks (id) ON DELETE CASCADE,
    -- The same for every webhook and at every attempt.
    event uuid NOT NULL,
    event_type text NOT NULL,
    -- Events of one lane are sent one after the other.
    lane text NOT NULL CHECK (octet_length(lane) <= 2048),
    -- The body of the request, without the envelope of a message.
    body text NOT NULL,
    -- The message that the event is about. It is read at each attempt, so that a recall and its expiry hold here too.
    inbox bigint,
    seq bigint,
    state text NOT NULL CHECK (state IN ('waiting', 'delivered', 'missed')),
    -- Attempts since it was enqueued or requested again.
    attempts integer NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    created_at timestamptz NOT NULL DEFAULT now(),
    finished_at timestamptz,
    UNIQUE (webhook, event),
    CHECK ((state = 'waiting') = (finished_at IS NULL)),
    CHECK ((inbox IS NULL) = (seq IS NULL))
);

CREATE INDEX webhook_events_in_order ON webhook_events (webhook, number);
CREATE INDEX webhook_events_waiting ON webhook_events (webhook, lane, number) WHERE state = 'waiting';
CREATE INDEX webhook_events_by_age ON webhook_events (created_at);

-- Lanes with events to send. Whoever sends the first event of a lane has claimed it, so the next one waits.
CREATE TABLE webhook_lanes (
    webhook uuid NOT NULL REFERENCES webhooks (id) ON DELETE CASCADE,
    lane text NOT NULL,
    tenant uuid NOT NULL REFERENCES tenants (id),
    is_listener boolean NOT NULL,
    next_attempt_at timestamptz NOT NULL DEFAULT now(),
    claim uuid,
    PRIMARY KEY (webhook, lane)
);

CREATE INDEX due_webhook_lanes ON webhook_lanes (next_attempt_at) WHERE NOT is_listener;
CREATE INDEX webhook_lanes_of_tenant ON webhook_lanes (tenant);

-- What became of each attempt to send an event.
CREATE TABLE webhook_attempts (
    event bigint NOT NULL REFERENCES webhook_events (number) ON DELETE CASCADE,
    id bigint GENERATED ALWAYS AS IDENTITY,
    attempt integer NOT NULL,
    attempted_at timestamptz NOT NULL DEFAULT now(),
    -- Null without an answer.
    status integer,
    duration_ms bigint NOT NULL,
    -- Names the host at most.
    error text CHECK (char_length(error) <= 300),
    PRIMARY KEY (event, id)
);
