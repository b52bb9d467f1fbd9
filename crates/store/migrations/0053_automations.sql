-- The zone of a principal's events, for clients that name none.
ALTER TABLE principals ADD COLUMN time_zone text CHECK (length(time_zone) BETWEEN 1 AND 64);

-- Stored messages to an agent, each with a pipeline of its own.
CREATE TABLE automations (
    id uuid PRIMARY KEY,
    tenant uuid NOT NULL REFERENCES tenants (id),
    agent uuid NOT NULL REFERENCES agents (id),
    slug text NOT NULL,
    name text NOT NULL,
    enabled boolean NOT NULL DEFAULT true,
    revision bigint NOT NULL DEFAULT 1 CHECK (revision > 0),
    settings text NOT NULL CHECK (octet_length(settings) <= 262144),
    created_by uuid NOT NULL REFERENCES principals (id),
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (tenant, slug)
);

CREATE INDEX automations_by_agent ON automations (agent);
CREATE INDEX automations_by_author ON automations (created_by);
