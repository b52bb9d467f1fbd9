-- Bounds on what anonymous callers of the sign-in routes can store.

-- The client that started a sign-in: an address, or the /64 network of an IPv6 address. Its number of open sign-ins is
-- limited. Older replicas write none.
ALTER TABLE oidc_flows ADD COLUMN client text;

CREATE INDEX oidc_flows_by_client ON oidc_flows (client);

-- Failed sign-ins with names that do not exist, by a part of the name's keyed tag. They are locked as existing names
-- are.
CREATE TABLE unknown_names (
    slot integer PRIMARY KEY CHECK (slot BETWEEN 0 AND 1048575),
    failures timestamptz[] NOT NULL,
    -- From then on the failures no longer count.
    expires_at timestamptz NOT NULL
) WITH (fillfactor = 70);

CREATE INDEX unknown_names_by_expiry ON unknown_names (expires_at);
