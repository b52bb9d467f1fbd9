-- Logins of AIDs. `NOT VALID` checks new rows only, and all old rows have one of the kinds.
ALTER TABLE logins DROP CONSTRAINT logins_kind_check;
ALTER TABLE logins ADD CONSTRAINT logins_kind_check CHECK (kind IN ('tokens', 'browser', 'aid')) NOT VALID;

-- Which AID a login of the kind `aid` belongs to. A row goes with its login.
CREATE TABLE aid_logins (
    login uuid PRIMARY KEY REFERENCES logins (id) ON DELETE CASCADE,
    aid text NOT NULL REFERENCES aids (aid)
);

CREATE INDEX logins_of_aid ON aid_logins (aid);

-- Nonces that were signed. Each counts once.
CREATE TABLE used_login_nonces (
    nonce_hash bytea PRIMARY KEY CHECK (octet_length(nonce_hash) = 32),
    expires_at timestamptz NOT NULL
);

CREATE INDEX expired_login_nonces ON used_login_nonces (expires_at);
