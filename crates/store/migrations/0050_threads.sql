-- The agent that a run is of, with the revision of its settings. Agents are never deleted, hence no foreign key, which
-- would lock the table while it is checked.
ALTER TABLE runs ADD COLUMN agent uuid;
ALTER TABLE runs ADD COLUMN agent_revision bigint;

-- Conversations under the ids of clients. Two owners can use the same id.
CREATE TABLE threads (
    agent uuid NOT NULL REFERENCES agents (id),
    owner uuid NOT NULL REFERENCES principals (id),
    thread text NOT NULL CHECK (length(thread) BETWEEN 1 AND 128),
    session uuid NOT NULL UNIQUE REFERENCES sessions (id) ON DELETE CASCADE,
    created_at timestamptz NOT NULL DEFAULT now(),
    -- Of its last turn.
    used_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (agent, owner, thread)
);

CREATE INDEX threads_by_use ON threads (owner, used_at);

-- Turns under the ids of clients, so that a repeated request finds its turn.
CREATE TABLE client_runs (
    session uuid NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    client_run text NOT NULL CHECK (length(client_run) BETWEEN 1 AND 128),
    command uuid NOT NULL,
    -- The client's id of the message, which it sends again with the next turns.
    message text NOT NULL,
    -- The place in the session before the first event of the turn.
    run_ordinal integer NOT NULL,
    after_seq bigint NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (session, client_run)
);
