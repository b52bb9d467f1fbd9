-- Questions of agents, and their answers.
CREATE TABLE approvals (
    id uuid PRIMARY KEY,
    tenant uuid NOT NULL REFERENCES tenants (id),
    session uuid NOT NULL REFERENCES sessions (id),
    run uuid NOT NULL REFERENCES runs (id),
    command uuid NOT NULL REFERENCES commands (id),
    -- The agent's process and its request. Ids of requests start again in every process.
    process text NOT NULL CHECK (length(process) BETWEEN 1 AND 64),
    request text NOT NULL CHECK (length(request) BETWEEN 1 AND 128),
    -- Encrypted: a command may contain secrets, and is shown whole to those who answer.
    sealed_question bytea NOT NULL CHECK (octet_length(sealed_question) <= 300000),
    shown_digest bytea NOT NULL CHECK (octet_length(shown_digest) = 32),
    action_digest bytea CHECK (octet_length(action_digest) = 32),
    policy_version integer NOT NULL,
    status text NOT NULL DEFAULT 'pending' CHECK (status IN (
        'pending', 'decided', 'expired', 'delivering', 'delivered', 'settled', 'withdrawn', 'void', 'reused', 'uncertain'
    )),
    parked boolean NOT NULL DEFAULT false,
    end_reason text,
    option_id text,
    effect text CHECK (effect IN ('allow', 'deny', 'answer')),
    -- people, rule, earlier, expiry or quorum, and the ids of those.
    decided_by_kind text,
    decided_by uuid[] NOT NULL DEFAULT '{}',
    decided_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL,
    UNIQUE (run, process, request),
    CHECK ((option_id IS NULL) = (status IN ('pending', 'withdrawn')))
);

ALTER TABLE approvals ALTER COLUMN sealed_question SET STORAGE EXTERNAL;

CREATE INDEX approvals_of_tenant ON approvals (tenant, id);
CREATE INDEX approvals_pending ON approvals (tenant, id) WHERE status = 'pending';
CREATE INDEX approvals_expiry ON approvals (expires_at) WHERE status = 'pending';
CREATE INDEX approvals_open ON approvals (command)
    WHERE status IN ('pending', 'decided', 'expired', 'delivering', 'delivered');
