-- How far each stream is sealed, and the last hash of its chain. A sealer locks this row, never the head of the
-- stream: appends do not wait for sealing.
CREATE TABLE journal_seal_heads (
    journal smallint NOT NULL,
    owner uuid NOT NULL,
    sealed_seq bigint NOT NULL DEFAULT 0 CHECK (sealed_seq >= 0),
    -- 32 zeros before the first entry.
    hash bytea NOT NULL DEFAULT decode(repeat('00', 32), 'hex') CHECK (octet_length(hash) = 32),
    PRIMARY KEY (journal, owner)
) WITH (fillfactor = 50);

-- The chain: what an entry said, and that it followed on the one before. Stays when a body is erased.
CREATE TABLE journal_seals (
    journal smallint NOT NULL,
    owner uuid NOT NULL,
    seq bigint NOT NULL CHECK (seq > 0),
    body_hash bytea NOT NULL CHECK (octet_length(body_hash) = 32),
    hash bytea NOT NULL CHECK (octet_length(hash) = 32),
    PRIMARY KEY (journal, owner, seq)
);
