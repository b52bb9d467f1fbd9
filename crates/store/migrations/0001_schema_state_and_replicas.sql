-- What the database says of itself; one row. A binary that knows no migration as high as the floor is refused.
CREATE TABLE schema_state (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    floor bigint NOT NULL CHECK (floor > 0)
);

INSERT INTO schema_state (floor) VALUES (1);

-- The server processes that run on this database. Soft state: each writes its own row, all forget the silent.
CREATE TABLE replicas (
    id uuid PRIMARY KEY,
    version text NOT NULL,
    started_at timestamptz NOT NULL,
    seen_at timestamptz NOT NULL
);
