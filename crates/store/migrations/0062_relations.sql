-- AIDs with which agents speak that run elsewhere, with a key of their own. Agents that the server answers for have theirs in
-- `agent_inboxes`.
CREATE TABLE agent_aids (
    agent uuid PRIMARY KEY REFERENCES agents (id),
    aid text NOT NULL UNIQUE REFERENCES aids (aid),
    created_by uuid NOT NULL REFERENCES principals (id),
    created_at timestamptz NOT NULL DEFAULT now()
);

CREATE INDEX agent_aids_by_author ON agent_aids (created_by);

-- What users have granted to agents. A consent after the end of one is a new row.
CREATE TABLE relations (
    id uuid PRIMARY KEY,
    agent uuid NOT NULL REFERENCES agents (id),
    principal uuid NOT NULL REFERENCES principals (id),
    -- Ids of scopes of the manifest below.
    granted_scopes jsonb NOT NULL DEFAULT '[]' CHECK (jsonb_typeof(granted_scopes) = 'array'),
    -- The manifest that the user was shown.
    manifest_version bigint NOT NULL,
    manifest_hash bytea NOT NULL CHECK (octet_length(manifest_hash) = 32),
    -- The number of its last entry in `relation_changes`.
    last_change integer NOT NULL DEFAULT 1 CHECK (last_change > 0),
    -- The revision of the user's head at the last change that their devices have to know.
    revision bigint NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    changed_at timestamptz NOT NULL DEFAULT now(),
    ended_at timestamptz,
    FOREIGN KEY (agent, manifest_version) REFERENCES agent_manifests (agent, version)
) WITH (fillfactor = 80);

CREATE UNIQUE INDEX active_relations ON relations (agent, principal) WHERE ended_at IS NULL;
-- Serves the check after a change of the manifest, page by page.
CREATE INDEX active_relations_of_agent ON relations (agent, id) WHERE ended_at IS NULL;
CREATE INDEX relations_of_manifest ON relations (agent, manifest_version);
CREATE INDEX relations_of_principal ON relations (principal, id);

-- What was agreed, and when. Rows are never changed.
CREATE TABLE relation_changes (
    relation uuid NOT NULL REFERENCES relations (id),
    -- From 1, without gaps.
    number integer NOT NULL CHECK (number > 0),
    kind text NOT NULL,
    granted_scopes jsonb NOT NULL CHECK (jsonb_typeof(granted_scopes) = 'array'),
    manifest_version bigint NOT NULL,
    manifest_hash bytea NOT NULL CHECK (octet_length(manifest_hash) = 32),
    actor uuid NOT NULL REFERENCES principals (id),
    changed_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (relation, number)
);

CREATE INDEX relation_changes_by_actor ON relation_changes (actor);

-- One row for each user with relations. Whoever changes what their devices have to know locks it first and adds 1, so that the
-- order of revisions is that of commits, and every replica finds what is new with one query for all its connections.
CREATE TABLE relation_heads (
    principal uuid PRIMARY KEY REFERENCES principals (id),
    revision bigint NOT NULL DEFAULT 0 CHECK (revision >= 0)
) WITH (fillfactor = 50);

-- What users are told about a new version of a manifest, until they have decided.
CREATE TABLE relation_notices (
    relation uuid NOT NULL REFERENCES relations (id),
    manifest_version bigint NOT NULL,
    manifest_hash bytea NOT NULL CHECK (octet_length(manifest_hash) = 32),
    principal uuid NOT NULL REFERENCES principals (id),
    kind text NOT NULL,
    scopes jsonb NOT NULL CHECK (jsonb_typeof(scopes) = 'array'),
    revision bigint NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    acknowledged_at timestamptz,
    PRIMARY KEY (relation, manifest_version)
);

CREATE INDEX open_relation_notices ON relation_notices (principal, revision) WHERE acknowledged_at IS NULL;
CREATE INDEX relation_notices_of_principal ON relation_notices (principal);

-- How far the relations of an agent were compared with a version of its manifest.
CREATE TABLE relation_checks (
    agent uuid PRIMARY KEY REFERENCES agents (id),
    version bigint NOT NULL,
    -- The last relation that was compared; null at the start.
    after uuid,
    ended_at timestamptz,
    started_at timestamptz NOT NULL DEFAULT now()
);

CREATE INDEX open_relation_checks ON relation_checks (started_at) WHERE ended_at IS NULL;

-- Calls of tools, which go when the consent goes.
ALTER TABLE inbox_messages ADD COLUMN is_tool_call boolean NOT NULL DEFAULT false;
