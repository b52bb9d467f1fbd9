-- What an operator restricts for a tenant, within the bounds of the configuration. A tenant without a row has the bounds
-- of the configuration. JSON; a server that cannot read it allows the tenant nothing.
CREATE TABLE tenant_bounds (
    tenant uuid PRIMARY KEY REFERENCES tenants (id),
    restrictions text NOT NULL,
    updated_by uuid NOT NULL REFERENCES principals (id),
    updated_at timestamptz NOT NULL DEFAULT now()
);
