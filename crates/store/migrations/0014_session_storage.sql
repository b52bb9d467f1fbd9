-- What is known of the storage in which a session's backend keeps its threads: a summary, never contents. Whoever owns
-- the storage removes it; this says only that it is to be gone.
ALTER TABLE sessions
ADD COLUMN storage_kind text NOT NULL DEFAULT 'none' CHECK (storage_kind IN ('none', 'directory', 'evicted')),
ADD COLUMN storage_size_bytes bigint,
ADD COLUMN storage_files_count bigint,
ADD COLUMN storage_sha256 text,
ADD COLUMN storage_updated_at timestamptz,
ADD COLUMN storage_evicted_at timestamptz,
-- When whoever owns it said that it is gone.
ADD COLUMN storage_removed_at timestamptz,
-- When its storage may go; without it some time after its last use.
ADD COLUMN expires_at timestamptz,
ADD CONSTRAINT sessions_evicted CHECK ((storage_kind = 'evicted') = (storage_evicted_at IS NOT NULL));

CREATE INDEX sessions_stored ON sessions (updated_at) WHERE storage_kind = 'directory';

CREATE INDEX sessions_to_remove ON sessions (id) WHERE storage_kind = 'evicted' AND storage_removed_at IS NULL;
