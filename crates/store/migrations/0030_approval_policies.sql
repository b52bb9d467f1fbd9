-- The approval policies of tenants. Version 1 is the default of the server and has no row. Rows never change: each
-- approval keeps the version that it was asked under.
CREATE TABLE approval_policies (
    tenant uuid NOT NULL REFERENCES tenants (id),
    version integer NOT NULL CHECK (version > 1),
    policy text NOT NULL,
    created_by uuid NOT NULL REFERENCES principals (id),
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant, version)
);

-- One answer of each person to a question.
CREATE TABLE approval_votes (
    approval uuid NOT NULL REFERENCES approvals (id),
    principal uuid NOT NULL REFERENCES principals (id),
    option_id text NOT NULL,
    effect text NOT NULL CHECK (effect IN ('allow', 'deny', 'answer')),
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (approval, principal)
);

-- When a question was escalated to the owners of the tenant.
ALTER TABLE approvals ADD COLUMN escalated_at timestamptz;
