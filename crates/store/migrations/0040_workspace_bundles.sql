-- Git bundles that callers uploaded as the workspaces of runs, until the run ends.
CREATE TABLE workspace_bundles (
    run uuid PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,
    tenant uuid NOT NULL REFERENCES tenants (id),
    size_bytes bigint NOT NULL CHECK (size_bytes > 0)
);

CREATE INDEX workspace_bundles_of_tenant ON workspace_bundles (tenant) INCLUDE (size_bytes);

-- Encrypted.
CREATE TABLE workspace_bundle_parts (
    run uuid NOT NULL REFERENCES workspace_bundles (run) ON DELETE CASCADE,
    number integer NOT NULL CHECK (number >= 0),
    sealed_content bytea NOT NULL CHECK (octet_length(sealed_content) <= 1100000),
    PRIMARY KEY (run, number)
);

-- Encrypted bytes cannot be compressed.
ALTER TABLE workspace_bundle_parts ALTER COLUMN sealed_content SET STORAGE EXTERNAL;

CREATE FUNCTION erase_workspace_bundle() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM workspace_bundles WHERE run = NEW.id;
    RETURN NULL;
END
$$;

-- However a run ends, and on replicas of earlier versions too.
CREATE TRIGGER erase_workspace_bundle AFTER UPDATE OF state ON runs
FOR EACH ROW WHEN (NEW.state = 'ended' AND OLD.state <> 'ended') EXECUTE FUNCTION erase_workspace_bundle();
