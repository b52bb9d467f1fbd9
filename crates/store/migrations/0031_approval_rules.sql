-- Answers of people that are remembered for the same action.
CREATE TABLE approval_rules (
    id uuid PRIMARY KEY,
    tenant uuid NOT NULL REFERENCES tenants (id),
    -- The approval whose answer is remembered.
    approval uuid NOT NULL REFERENCES approvals (id),
    action_digest bytea NOT NULL CHECK (octet_length(action_digest) = 32),
    scope text NOT NULL CHECK (scope IN ('run', 'session', 'agent-and-project')),
    run uuid NOT NULL REFERENCES runs (id),
    session uuid NOT NULL REFERENCES sessions (id),
    agent text NOT NULL,
    project text NOT NULL,
    effect text NOT NULL CHECK (effect IN ('allow', 'deny')),
    policy_version integer NOT NULL,
    author uuid NOT NULL REFERENCES principals (id),
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL,
    -- How often it may still be used; null for any number.
    uses_left integer CHECK (uses_left >= 0),
    used integer NOT NULL DEFAULT 0,
    revoked_at timestamptz
);

CREATE INDEX approval_rules_of_action ON approval_rules (tenant, action_digest) WHERE revoked_at IS NULL;
CREATE INDEX approval_rules_of_tenant ON approval_rules (tenant, id);
