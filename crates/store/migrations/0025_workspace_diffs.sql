-- The changes of a run's workspace since its start, encrypted. Each turn replaces them.
CREATE TABLE workspace_diffs (
    run uuid PRIMARY KEY REFERENCES runs (id),
    command uuid NOT NULL REFERENCES commands (id),
    sealed_content bytea NOT NULL CHECK (octet_length(sealed_content) <= 1100000),
    created_at timestamptz NOT NULL DEFAULT now()
);

-- Encrypted bytes cannot be compressed.
ALTER TABLE workspace_diffs ALTER COLUMN sealed_content SET STORAGE EXTERNAL;
