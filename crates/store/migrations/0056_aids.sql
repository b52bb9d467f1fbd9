-- Names of agents and people in the AUN network. A name is never given to another principal, so rows are never deleted.
CREATE TABLE aids (
    aid text PRIMARY KEY,
    principal uuid NOT NULL REFERENCES principals (id),
    created_at timestamptz NOT NULL DEFAULT now()
);

CREATE INDEX aids_of_principal ON aids (principal, aid);

-- Every certificate that this issuer has signed. Old ones verify what they signed.
CREATE TABLE aid_certificates (
    serial bytea PRIMARY KEY,
    aid text NOT NULL REFERENCES aids (aid),
    der bytea NOT NULL,
    -- SHA-256 of the certificate and of its public key. Clients ask for either.
    fingerprint bytea NOT NULL CHECK (octet_length(fingerprint) = 32),
    key_fingerprint bytea NOT NULL CHECK (octet_length(key_fingerprint) = 32),
    not_before timestamptz NOT NULL,
    not_after timestamptz NOT NULL,
    -- When a newer certificate of the AID took its place.
    replaced_at timestamptz,
    revoked_at timestamptz,
    revocation_reason text,
    CHECK ((revoked_at IS NULL) = (revocation_reason IS NULL))
);

-- One certificate of an AID signs in.
CREATE UNIQUE INDEX current_aid_certificate ON aid_certificates (aid) WHERE replaced_at IS NULL;
CREATE INDEX certificates_of_aid ON aid_certificates (aid, not_before);
-- The revocation list: certificates that would still be valid.
CREATE INDEX revoked_aid_certificates ON aid_certificates (not_after) WHERE revoked_at IS NOT NULL;

-- Names that one address may register for some minutes.
CREATE TABLE aid_reservations (
    name text PRIMARY KEY,
    address inet NOT NULL,
    owner uuid NOT NULL REFERENCES principals (id),
    expires_at timestamptz NOT NULL
);

CREATE INDEX expired_aid_reservations ON aid_reservations (expires_at);

-- The one issuer of this database. A replica with the keys of another one does not start.
CREATE TABLE aid_issuer (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    name text NOT NULL,
    root_fingerprint bytea NOT NULL CHECK (octet_length(root_fingerprint) = 32)
);
