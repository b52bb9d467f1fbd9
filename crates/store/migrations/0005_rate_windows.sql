-- How many permits of a rate were handed out, for each caller and window. Replicas borrow blocks of them and spend them
-- from memory, so this row is touched once a block. A window is named by both its ends: while the configuration changes,
-- windows of two lengths may begin together.
CREATE TABLE rate_windows (
    tier smallint NOT NULL,
    -- A principal's id, or the address of somebody who is not known yet.
    key text NOT NULL,
    starts_at timestamptz NOT NULL,
    ends_at timestamptz NOT NULL CHECK (ends_at > starts_at),
    handed_out integer NOT NULL CHECK (handed_out > 0),
    -- The block that was handed out last: what the borrower is told.
    block integer NOT NULL CHECK (block > 0),
    PRIMARY KEY (tier, key, starts_at, ends_at)
) WITH (fillfactor = 70);

CREATE INDEX rate_windows_by_end ON rate_windows (ends_at);
