-- Tokens with which runners register and claim, and nothing else. Each acts as a principal of its own, without a role.
CREATE TABLE enrolments (
    id uuid PRIMARY KEY,
    tenant uuid NOT NULL REFERENCES tenants (id),
    -- Run tokens name it: a run token ends with the enrolment that its runner came with.
    principal uuid NOT NULL UNIQUE REFERENCES principals (id),
    name text NOT NULL,
    -- Where set, only runs of this backend profile are claimed.
    profile text,
    -- Where set, only runs for this pool are claimed.
    pool text,
    hash bytea NOT NULL CHECK (octet_length(hash) = 32),
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL,
    -- Sampled: written at most once a minute.
    last_used_at timestamptz,
    revoked_at timestamptz
);

CREATE INDEX enrolments_of_tenant ON enrolments (tenant, id);

-- End users of tenants' applications, under the names that the applications know them by.
CREATE TABLE external_subjects (
    tenant uuid NOT NULL REFERENCES tenants (id),
    subject text NOT NULL,
    principal uuid NOT NULL UNIQUE REFERENCES principals (id),
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant, subject)
);

CREATE TABLE projects (
    id uuid PRIMARY KEY,
    tenant uuid NOT NULL REFERENCES tenants (id),
    slug text NOT NULL,
    name text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (tenant, slug)
);

-- Effects on the world outside that a committed fact asks for. A row goes when its effect is done.
CREATE TABLE outbox (
    id uuid PRIMARY KEY,
    kind text NOT NULL,
    -- JSON. Without a secret: whoever does the effect looks those up.
    body text NOT NULL CHECK (octet_length(body) <= 262144),
    enqueued_at timestamptz NOT NULL DEFAULT now(),
    -- Begun, not ended: a worker that is killed has used its attempt up.
    attempts integer NOT NULL DEFAULT 0,
    -- While a worker is at it, the time at which others take it for dead.
    next_attempt_at timestamptz NOT NULL DEFAULT now(),
    -- Who is at it. Only under this is an outcome written: a worker that was overtaken changes nothing.
    claim uuid,
    last_error text,
    -- Given up. The row stays, for somebody to look at.
    dead_at timestamptz
);

CREATE INDEX outbox_due ON outbox (kind, next_attempt_at) WHERE dead_at IS NULL;

CREATE INDEX outbox_dead ON outbox (dead_at) WHERE dead_at IS NOT NULL;
