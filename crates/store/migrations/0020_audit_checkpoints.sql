-- Signed statements about audit logs: the hash of a log at an entry. Rows are inserted and read, never changed.
CREATE TABLE journal_checkpoints (
    journal smallint NOT NULL,
    owner uuid NOT NULL,
    seq bigint NOT NULL CHECK (seq > 0),
    hash bytea NOT NULL CHECK (octet_length(hash) = 32),
    signed_at timestamptz NOT NULL,
    -- The first bytes of the hash of the public key.
    key_id bytea NOT NULL CHECK (octet_length(key_id) = 8),
    signature bytea NOT NULL CHECK (octet_length(signature) = 64),
    PRIMARY KEY (journal, owner, seq)
);

-- How far each stream is signed.
ALTER TABLE journal_seal_heads ADD COLUMN signed_seq bigint NOT NULL DEFAULT 0 CHECK (signed_seq >= 0);

-- Gives the role of the server what it needs, and no more: entries, seals and checkpoints of journals are inserted and
-- read. Called by the owner of the tables after each migration. Partitions are reached through their parent.
CREATE FUNCTION limit_application_role(application text) RETURNS void
LANGUAGE plpgsql
AS $$
DECLARE
    found record;
    privileges text;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtext('limit_application_role'));
    EXECUTE format('GRANT USAGE ON SCHEMA %I TO %I', current_schema(), application);
    EXECUTE format('GRANT USAGE ON ALL SEQUENCES IN SCHEMA %I TO %I', current_schema(), application);
    FOR found IN
        SELECT relation.relname AS name, relation.relispartition AS is_partition
        FROM pg_class AS relation
        WHERE relation.relnamespace = current_schema()::regnamespace AND relation.relkind IN ('r', 'p')
    LOOP
        privileges := CASE
            WHEN found.is_partition THEN NULL
            WHEN found.name IN ('journal_entries', 'journal_seals', 'journal_checkpoints') THEN 'SELECT, INSERT'
            WHEN found.name IN ('_sqlx_migrations', 'schema_state') THEN 'SELECT'
            ELSE 'SELECT, INSERT, UPDATE, DELETE'
        END;
        EXECUTE format('REVOKE ALL ON %I.%I FROM PUBLIC, %I', current_schema(), found.name, application);
        IF privileges IS NOT NULL THEN
            EXECUTE format('GRANT %s ON %I.%I TO %I', privileges, current_schema(), found.name, application);
        END IF;
    END LOOP;
END
$$;
