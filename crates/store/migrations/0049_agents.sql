-- Agents of tenants. An agent is a principal: its id is the principal's, which has its name.
CREATE TABLE agents (
    id uuid PRIMARY KEY REFERENCES principals (id),
    tenant uuid NOT NULL REFERENCES tenants (id),
    slug text NOT NULL,
    enabled boolean NOT NULL DEFAULT true,
    is_default boolean NOT NULL DEFAULT false,
    -- The current revision of its settings.
    revision bigint NOT NULL DEFAULT 1 CHECK (revision > 0),
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (tenant, slug)
);

-- At most one default per tenant.
CREATE UNIQUE INDEX agents_default_of_tenant ON agents (tenant) WHERE is_default;

-- Settings of agents. A run keeps the revision that it was created with, so that what it was told can be read again.
CREATE TABLE agent_revisions (
    agent uuid NOT NULL REFERENCES agents (id),
    revision bigint NOT NULL CHECK (revision > 0),
    settings text NOT NULL CHECK (octet_length(settings) <= 262144),
    changed_by uuid NOT NULL REFERENCES principals (id),
    changed_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (agent, revision)
);

CREATE INDEX agent_revisions_by_author ON agent_revisions (changed_by);
