-- A login is a family of refresh tokens, or one browser session. Of a browser session, `current_hash` is the hash of
-- its cookie, which is never exchanged.
ALTER TABLE logins ADD COLUMN kind text NOT NULL DEFAULT 'tokens' CHECK (kind IN ('tokens', 'browser'));

-- Whom an identity provider knows under which name. Nothing else links an account: an address of mail can be given to
-- somebody else.
CREATE TABLE login_methods (
    issuer text NOT NULL,
    subject text NOT NULL,
    principal uuid NOT NULL REFERENCES principals (id),
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (issuer, subject)
);

CREATE INDEX login_methods_of_principal ON login_methods (principal);

-- Invitations to become a member. Each is accepted once; only the hash of its secret is kept.
CREATE TABLE invitations (
    id uuid PRIMARY KEY,
    tenant uuid NOT NULL REFERENCES tenants (id),
    role text NOT NULL CHECK (role IN ('owner', 'operator', 'developer', 'viewer')),
    -- Words of whoever invites, to tell invitations apart. Nothing is decided by them.
    note text,
    hash bytea NOT NULL CHECK (octet_length(hash) = 32),
    invited_by uuid NOT NULL REFERENCES principals (id),
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL,
    revoked_at timestamptz,
    accepted_at timestamptz,
    accepted_by uuid REFERENCES principals (id),
    CHECK ((accepted_at IS NULL) = (accepted_by IS NULL))
);

CREATE INDEX invitations_of_tenant ON invitations (tenant, id);

-- Sign-ins that are on their way through an identity provider. A row is taken once, by the callback, on any replica.
-- What proves them (state, nonce, PKCE verifier) follows from a cookie of the browser, of which the hash is kept.
CREATE TABLE oidc_flows (
    id uuid PRIMARY KEY,
    browser_hash bytea NOT NULL CHECK (octet_length(browser_hash) = 32),
    -- Where the browser goes afterwards: a path of this server.
    return_to text NOT NULL,
    -- The secret itself may be needed after minutes, so its id and hash are kept: the check is made at the end.
    invitation uuid,
    invitation_hash bytea,
    -- Where a command waits for the outcome, and what proves that it is the one that asked.
    cli_port integer CHECK (cli_port BETWEEN 1 AND 65535),
    cli_challenge text,
    expires_at timestamptz NOT NULL,
    CHECK ((invitation IS NULL) = (invitation_hash IS NULL)),
    CHECK ((cli_port IS NULL) = (cli_challenge IS NULL))
);

CREATE INDEX oidc_flows_by_expiry ON oidc_flows (expires_at);

-- One-time codes with which a command fetches its tokens, after the browser has signed in for it.
CREATE TABLE handoffs (
    id uuid PRIMARY KEY,
    hash bytea NOT NULL CHECK (octet_length(hash) = 32),
    principal uuid NOT NULL REFERENCES principals (id),
    challenge text NOT NULL,
    expires_at timestamptz NOT NULL
);

CREATE INDEX handoffs_by_expiry ON handoffs (expires_at);
