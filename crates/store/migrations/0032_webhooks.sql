-- Endpoints of tenants that are told about events. The events themselves are in the outbox.
CREATE TABLE webhooks (
    id uuid PRIMARY KEY,
    tenant uuid NOT NULL REFERENCES tenants (id),
    url text NOT NULL CHECK (octet_length(url) <= 2048),
    events text[] NOT NULL CHECK (cardinality(events) BETWEEN 1 AND 50),
    description text NOT NULL CHECK (char_length(description) <= 200),
    -- Encrypted with a key that is not in the database.
    sealed_secret bytea NOT NULL,
    -- Signs too, until its end.
    sealed_previous_secret bytea,
    previous_secret_ends_at timestamptz,
    created_by uuid NOT NULL REFERENCES principals (id),
    created_at timestamptz NOT NULL DEFAULT now(),
    disabled_at timestamptz,
    disabled_reason text,
    last_success_at timestamptz,
    last_failure_at timestamptz,
    last_failure_event uuid,
    last_failure_attempt integer,
    last_failure_message text,
    -- Whether the event of the last failure was given up.
    last_failure_is_final boolean,
    CHECK ((sealed_previous_secret IS NULL) = (previous_secret_ends_at IS NULL)),
    CHECK ((disabled_at IS NULL) = (disabled_reason IS NULL)),
    CHECK (
        num_nulls(
            last_failure_at, last_failure_event, last_failure_attempt, last_failure_message, last_failure_is_final
        ) IN (0, 5)
    )
);

CREATE INDEX webhooks_of_tenant ON webhooks (tenant, id);
