-- Browser sign-ins for a command line program that the user has not confirmed yet. A code for the program is created on
-- confirmation only.
CREATE TABLE handoff_confirmations (
    id uuid PRIMARY KEY,
    browser_hash bytea NOT NULL CHECK (octet_length(browser_hash) = 32),
    principal uuid NOT NULL REFERENCES principals (id),
    cli_port integer NOT NULL CHECK (cli_port BETWEEN 1 AND 65535),
    cli_challenge text NOT NULL,
    expires_at timestamptz NOT NULL
);

CREATE INDEX handoff_confirmations_by_expiry ON handoff_confirmations (expires_at);
