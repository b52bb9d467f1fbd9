-- The transparency log (RFC 6962): every certificate has an entry before it is handed out. Nothing of it is ever deleted.
CREATE TABLE transparency_entries (
    index bigint PRIMARY KEY CHECK (index >= 0),
    serial bytea NOT NULL UNIQUE REFERENCES aid_certificates (serial),
    -- In whole milliseconds: the leaf contains it.
    logged_at timestamptz NOT NULL
);

-- The complete subtrees: node `index` of a level is the hash over 2^level leaves. Nodes never change.
CREATE TABLE transparency_nodes (
    level smallint NOT NULL CHECK (level BETWEEN 0 AND 62),
    index bigint NOT NULL CHECK (index >= 0),
    hash bytea NOT NULL CHECK (octet_length(hash) = 32),
    PRIMARY KEY (level, index)
);

-- The size of the log, whose row is locked by whoever appends, and the newest signed head.
CREATE TABLE transparency_log (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    size bigint NOT NULL CHECK (size >= 0),
    head_size bigint,
    head_root bytea CHECK (octet_length(head_root) = 32),
    head_at timestamptz,
    head_signature bytea,
    CHECK (head_size <= size),
    CHECK (num_nulls(head_size, head_root, head_at, head_signature) IN (0, 4))
);

INSERT INTO transparency_log (size) VALUES (0);

-- The version of the list of trusted roots, and the hash of its roots.
CREATE TABLE trust_list (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    version bigint NOT NULL CHECK (version > 0),
    content_hash bytea NOT NULL CHECK (octet_length(content_hash) = 32)
);

-- Hashes of the keys that sign the log and the list of roots. A replica with other keys does not start.
ALTER TABLE aid_issuer
ADD COLUMN log_key bytea CHECK (octet_length(log_key) = 32),
ADD COLUMN trust_key bytea CHECK (octet_length(trust_key) = 32);
