-- Canary turns that show whether a provider profile works. Never a credential: what was tried, and what came of it.
CREATE TABLE profile_validations (
    id uuid PRIMARY KEY,
    tenant uuid NOT NULL REFERENCES tenants (id),
    profile text NOT NULL,
    -- The version of the profile that was tried; none where its runner keeps it and this server does not.
    resource_version text,
    -- An ordinary run, which this row marks as a validation.
    run uuid NOT NULL UNIQUE REFERENCES runs (id),
    command uuid NOT NULL,
    created_by uuid NOT NULL REFERENCES principals (id),
    created_at timestamptz NOT NULL DEFAULT now(),
    -- Whatever happens, it has come out by then.
    deadline_at timestamptz NOT NULL,
    status text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'ok', 'failed')),
    failure_kind text,
    failure_message text,
    settled_at timestamptz,
    CHECK ((status = 'pending') = (settled_at IS NULL)),
    CHECK ((status = 'failed') = (failure_kind IS NOT NULL))
);

CREATE INDEX profile_validations_of_profile ON profile_validations (tenant, profile, id);

CREATE INDEX profile_validations_pending ON profile_validations (id) WHERE status = 'pending';
