-- Agents that answer messages. The server holds the key of their AID.
CREATE TABLE agent_inboxes (
    agent uuid PRIMARY KEY REFERENCES agents (id),
    inbox bigint NOT NULL UNIQUE REFERENCES inboxes (id),
    aid text NOT NULL UNIQUE REFERENCES aids (aid),
    -- Whose messages start work.
    senders text NOT NULL,
    -- The private key of the AID in PKCS#8, encrypted.
    sealed_key bytea NOT NULL,
    -- One replica reads the inbox at a time. It holds it until then.
    claimed_until timestamptz NOT NULL DEFAULT now(),
    created_at timestamptz NOT NULL DEFAULT now()
);

-- Answers that have to be sent when their turn has ended.
CREATE TABLE agent_answers (
    -- The turn.
    command uuid PRIMARY KEY,
    agent uuid NOT NULL REFERENCES agent_inboxes (agent),
    -- The inbox of whoever has sent the message.
    recipient bigint NOT NULL,
    -- The message.
    message_id text NOT NULL,
    message_kind text NOT NULL,
    claimed_until timestamptz NOT NULL DEFAULT now(),
    created_at timestamptz NOT NULL DEFAULT now()
);

CREATE INDEX agent_answers_of_agent ON agent_answers (agent);
