-- The head of each stream: the one row that a writer locks. Narrow, and with room beside it, so that moving it
-- touches no index.
CREATE TABLE journal_heads (
    journal smallint NOT NULL,
    owner uuid NOT NULL,
    last_seq bigint NOT NULL DEFAULT 0 CHECK (last_seq >= 0),
    epoch bigint NOT NULL DEFAULT 0 CHECK (epoch >= 0),
    PRIMARY KEY (journal, owner)
) WITH (fillfactor = 50);

-- The entries of all streams, one partition a journal. A journal with retention divides its partition further, by a
-- key that the unique indexes contain.
CREATE TABLE journal_entries (
    journal smallint NOT NULL,
    owner uuid NOT NULL,
    seq bigint NOT NULL CHECK (seq > 0),
    id uuid NOT NULL,
    kind text NOT NULL,
    -- JSON as it was written, byte for byte; null when erased.
    body text,
    recorded_at timestamptz NOT NULL DEFAULT now(),
    erased_at timestamptz,
    CHECK ((body IS NULL) = (erased_at IS NOT NULL)),
    PRIMARY KEY (journal, owner, seq),
    -- Recognises a repeated entry, for as long as the entry is kept.
    UNIQUE (journal, owner, id)
) PARTITION BY LIST (journal);

-- The audit log is kept for good.
CREATE TABLE journal_entries_audit PARTITION OF journal_entries FOR VALUES IN (1);

-- Undoes a group of appends of which one stream was not as its writer had seen it: the writer then takes them singly.
CREATE FUNCTION journal_all_moved(moved bigint, wanted bigint) RETURNS boolean
LANGUAGE plpgsql STABLE
AS $$
BEGIN
    IF moved <> wanted THEN
        RAISE EXCEPTION 'a stream has moved' USING ERRCODE = 'serialization_failure';
    END IF;
    RETURN true;
END
$$;
