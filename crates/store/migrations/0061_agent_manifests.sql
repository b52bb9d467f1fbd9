-- Every version of the manifests of agents. The text is canonical JSON: its SHA-256 is the hash. `jsonb` would keep neither.
CREATE TABLE agent_manifests (
    agent uuid NOT NULL REFERENCES agents (id),
    version bigint NOT NULL CHECK (version > 0),
    canonical text NOT NULL CHECK (octet_length(canonical) <= 131072),
    hash bytea NOT NULL CHECK (hash = sha256(convert_to(canonical, 'UTF8'))),
    -- What changed since the version before.
    contract text,
    consent text,
    -- Its entry in the transparency log, if it was ever published.
    log_index bigint UNIQUE REFERENCES transparency_entries (index),
    created_by uuid NOT NULL REFERENCES principals (id),
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (agent, version),
    CHECK (num_nulls(contract, consent) IN (0, 2) AND (contract IS NULL) = (version = 1))
);

CREATE INDEX agent_manifests_by_author ON agent_manifests (created_by);

-- The current version, and whether everybody may read it.
ALTER TABLE agents
ADD COLUMN manifest_version bigint,
ADD COLUMN published boolean NOT NULL DEFAULT false,
ADD CONSTRAINT agents_published_manifest CHECK (NOT published OR manifest_version IS NOT NULL);

-- An entry without a certificate is that of the manifest with this `log_index`.
ALTER TABLE transparency_entries ALTER COLUMN serial DROP NOT NULL;
