-- Who there is. Everything that acts has a row here.
CREATE TABLE principals (
    id uuid PRIMARY KEY,
    kind text NOT NULL CHECK (kind IN ('person', 'agent', 'service', 'external')),
    name text NOT NULL,
    -- Operates the whole installation. That alone opens no tenant.
    is_operator boolean NOT NULL DEFAULT false,
    created_at timestamptz NOT NULL DEFAULT now(),
    disabled_at timestamptz
);

-- A way to sign in: a name and a password. Failed attempts are kept until one succeeds.
CREATE TABLE passwords (
    name text PRIMARY KEY,
    principal uuid NOT NULL REFERENCES principals (id),
    hash text NOT NULL,
    failures timestamptz[] NOT NULL DEFAULT '{}'
);

-- A signed-in session: one family of refresh tokens. Only hashes are kept.
CREATE TABLE logins (
    id uuid PRIMARY KEY,
    principal uuid NOT NULL REFERENCES principals (id),
    current_hash bytea NOT NULL,
    previous_hash bytea,
    previous_rotated_at timestamptz,
    last_rotated_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    revoked_at timestamptz
);

CREATE INDEX logins_of_principal ON logins (principal);

CREATE TABLE tenants (
    id uuid PRIMARY KEY,
    slug text NOT NULL UNIQUE,
    name text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE memberships (
    tenant uuid NOT NULL REFERENCES tenants (id),
    principal uuid NOT NULL REFERENCES principals (id),
    role text NOT NULL CHECK (role IN ('owner', 'operator', 'developer', 'viewer')),
    PRIMARY KEY (tenant, principal)
);

CREATE INDEX memberships_of_principal ON memberships (principal);

-- Long-lived keys of a tenant, for programs. Each acts as a principal of its own.
CREATE TABLE service_keys (
    id uuid PRIMARY KEY,
    tenant uuid NOT NULL REFERENCES tenants (id),
    principal uuid NOT NULL REFERENCES principals (id),
    name text NOT NULL,
    hash bytea NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    -- Sampled: written at most once a minute.
    last_used_at timestamptz,
    revoked_at timestamptz
);

CREATE INDEX service_keys_of_tenant ON service_keys (tenant, id);

-- Keys that sign access tokens. The private half is sealed under a key that PostgreSQL does not have.
CREATE TABLE signing_keys (
    id uuid PRIMARY KEY,
    public_key bytea NOT NULL,
    sealed_private_key bytea NOT NULL,
    created_at timestamptz NOT NULL,
    signs_from timestamptz NOT NULL,
    signs_until timestamptz NOT NULL,
    verifies_until timestamptz NOT NULL
);

-- What a create under a client's key made. The scope is the principal; the window is 24 hours.
CREATE TABLE idempotency_keys (
    principal uuid NOT NULL REFERENCES principals (id),
    key text NOT NULL,
    body_hash bytea NOT NULL,
    made uuid NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (principal, key)
);

CREATE INDEX idempotency_keys_by_age ON idempotency_keys (created_at);
