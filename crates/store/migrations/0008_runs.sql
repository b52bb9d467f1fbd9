-- A conversation with its storage. At most one run of it is open.
CREATE TABLE sessions (
    id uuid PRIMARY KEY,
    tenant uuid NOT NULL REFERENCES tenants (id),
    project text NOT NULL,
    backend_profile text NOT NULL,
    created_by uuid NOT NULL REFERENCES principals (id),
    created_at timestamptz NOT NULL DEFAULT now(),
    -- The backend's own thread, once there is one.
    thread_id text,
    -- One more for each command, and each run, that has ended: what a reader ought to look at.
    version bigint NOT NULL DEFAULT 0,
    -- Ordinals of runs given out.
    runs integer NOT NULL DEFAULT 0,
    running boolean NOT NULL DEFAULT false,
    active_run uuid,
    active_command uuid,
    last_run uuid,
    updated_at timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 70);

CREATE INDEX sessions_of_tenant ON sessions (tenant, id);

-- How far each reader has read. A reader is a principal and a name of its choice.
CREATE TABLE session_reads (
    session uuid NOT NULL REFERENCES sessions (id),
    principal uuid NOT NULL REFERENCES principals (id),
    reader text NOT NULL,
    version bigint NOT NULL,
    PRIMARY KEY (session, principal, reader)
);

-- An open execution inside a session. Whoever changes one locks the head of its journal first.
CREATE TABLE runs (
    id uuid PRIMARY KEY,
    tenant uuid NOT NULL REFERENCES tenants (id),
    session uuid NOT NULL REFERENCES sessions (id),
    ordinal integer NOT NULL,
    project text NOT NULL,
    provider text NOT NULL,
    backend_profile text NOT NULL,
    -- JSON as it was admitted: no credential, only references.
    workspace_ref text NOT NULL,
    execution_policy text NOT NULL,
    trace_sink text,
    created_by uuid NOT NULL REFERENCES principals (id),
    created_at timestamptz NOT NULL DEFAULT now(),
    state text NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'cancelling', 'ended')),
    terminal_status text CHECK (terminal_status IN ('completed', 'failed', 'blocked', 'cancelled')),
    failure_kind text,
    failure_message text,
    ended_at timestamptz,
    -- Where its journal says that a cancel was asked for: what a polling runner has not seen yet.
    cancel_seq bigint NOT NULL DEFAULT 0,
    -- Ordinals of commands given out.
    commands integer NOT NULL DEFAULT 0,
    -- Since when it waits for a runner, or for something to do.
    waiting_since timestamptz NOT NULL DEFAULT now(),
    input_tokens bigint NOT NULL DEFAULT 0,
    cached_input_tokens bigint NOT NULL DEFAULT 0,
    output_tokens bigint NOT NULL DEFAULT 0,
    active_ms bigint NOT NULL DEFAULT 0,
    tool_calls bigint NOT NULL DEFAULT 0,
    -- What it may cost; nothing enforces these yet.
    token_budget bigint,
    active_ms_budget bigint,
    tool_call_budget bigint,
    CHECK ((state = 'ended') = (terminal_status IS NOT NULL)),
    CHECK ((state = 'ended') = (ended_at IS NOT NULL)),
    UNIQUE (session, ordinal)
) WITH (fillfactor = 70);

CREATE UNIQUE INDEX runs_one_open_a_session ON runs (session) WHERE state <> 'ended';
CREATE INDEX runs_of_tenant ON runs (tenant, id);
CREATE INDEX runs_open ON runs (id) WHERE state <> 'ended';

-- One instruction to a run each.
CREATE TABLE commands (
    id uuid PRIMARY KEY,
    run uuid NOT NULL REFERENCES runs (id),
    ordinal integer NOT NULL,
    kind text NOT NULL CHECK (kind IN ('turn', 'steer', 'interrupt')),
    payload text NOT NULL,
    -- The turn that a steer is for.
    target uuid,
    state text NOT NULL DEFAULT 'pending'
        CHECK (state IN ('pending', 'running', 'completed', 'failed', 'blocked', 'cancelled')),
    -- The epoch of the runner that took it.
    epoch bigint,
    cancelling boolean NOT NULL DEFAULT false,
    failure_kind text,
    failure_message text,
    created_by uuid NOT NULL REFERENCES principals (id),
    created_at timestamptz NOT NULL DEFAULT now(),
    acked_at timestamptz,
    -- Where its target stood when it was delivered: what came after may be its effect.
    delivered_seq bigint,
    ended_at timestamptz,
    CHECK (state <> 'running' OR epoch IS NOT NULL),
    UNIQUE (run, ordinal)
) WITH (fillfactor = 70);

CREATE INDEX commands_open ON commands (run) WHERE state IN ('pending', 'running');

-- Runners that have registered. What they say of themselves is not trusted with anything.
CREATE TABLE runners (
    id uuid PRIMARY KEY,
    tenant uuid NOT NULL REFERENCES tenants (id),
    enrolment uuid NOT NULL,
    name text NOT NULL,
    placement text NOT NULL,
    backend_profiles text[] NOT NULL,
    registered_at timestamptz NOT NULL DEFAULT now(),
    seen_at timestamptz NOT NULL DEFAULT now()
);

CREATE INDEX runners_of_tenant ON runners (tenant, id);

-- Who holds which run. A run that nobody holds has no row. No index on the expiry: appends renew, and renewing shall
-- touch no index; whoever looks for what is over reads the few rows there are.
CREATE TABLE leases (
    run uuid PRIMARY KEY REFERENCES runs (id),
    runner uuid NOT NULL REFERENCES runners (id),
    epoch bigint NOT NULL,
    hold_ms integer NOT NULL CHECK (hold_ms > 0),
    expires_at timestamptz NOT NULL
) WITH (fillfactor = 50);

-- What a result needs of the events, kept as they are appended: counters and pointers, no text. One for the run (its
-- scope is the nil id) and one for each command.
CREATE TABLE run_folds (
    run uuid NOT NULL REFERENCES runs (id),
    scope uuid NOT NULL,
    fold text NOT NULL,
    PRIMARY KEY (run, scope)
) WITH (fillfactor = 50);

-- Events of runs, divided by the age of the run: the id of a run begins with its time. A part is dropped whole when
-- all its runs have ended and are no longer kept.
CREATE TABLE journal_entries_run PARTITION OF journal_entries FOR VALUES IN (2) PARTITION BY RANGE (owner);

CREATE FUNCTION journal_run_bound(at timestamptz) RETURNS uuid
LANGUAGE sql IMMUTABLE
RETURN rpad(lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0'), 32, '0')::uuid;

-- Makes the parts for the runs of the next weeks, where they are not there yet.
CREATE FUNCTION journal_run_parts(weeks integer) RETURNS void
LANGUAGE plpgsql
AS $$
DECLARE
    first timestamptz := date_trunc('week', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC';
    monday timestamptz;
    part text;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtext('journal_run_parts'));
    FOR week IN 0 .. weeks LOOP
        monday := first + week * interval '7 days';
        part := 'journal_entries_run_' || to_char(monday AT TIME ZONE 'UTC', 'IYYY"w"IW');
        IF to_regclass(part) IS NULL THEN
            EXECUTE format(
                'CREATE TABLE %I PARTITION OF journal_entries_run FOR VALUES FROM (%L) TO (%L)',
                part, journal_run_bound(monday), journal_run_bound(monday + interval '7 days')
            );
        END IF;
    END LOOP;
END
$$;

-- Clocks differ, and a restored run may be older than this installation.
DO $$
BEGIN
    EXECUTE format(
        'CREATE TABLE journal_entries_run_before PARTITION OF journal_entries_run FOR VALUES FROM (MINVALUE) TO (%L)',
        journal_run_bound(date_trunc('week', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC')
    );
END
$$;

SELECT journal_run_parts(8);

-- Appends to many streams at once. The caller has decided on the numbers from the heads as it last saw them; when one
-- of them has moved since, or has another holder, nothing is written at all. With the entries go the folds that they
-- move, and the leases of the runners that wrote them are renewed when a fifth of their time has passed.
CREATE FUNCTION journal_append_group(
    journals smallint[], owners uuid[], seen bigint[], epochs bigint[], next bigint[],
    entry_stream integer[], entry_seqs bigint[], entry_ids uuid[], entry_kinds text[], entry_bodies text[],
    fold_runs uuid[], fold_scopes uuid[], folds text[],
    lease_runs uuid[], lease_epochs bigint[]
) RETURNS void
LANGUAGE plpgsql
AS $$
BEGIN
    FOR at IN 1 .. cardinality(owners) LOOP
        UPDATE journal_heads SET last_seq = next[at]
        WHERE journal = journals[at] AND owner = owners[at] AND last_seq = seen[at] AND epoch = epochs[at];
        IF NOT FOUND THEN
            RAISE EXCEPTION 'a stream has moved' USING ERRCODE = 'serialization_failure';
        END IF;
    END LOOP;
    INSERT INTO journal_entries (journal, owner, seq, id, kind, body)
    SELECT journals[entry.stream], owners[entry.stream], entry.seq, entry.id, entry.kind, entry.body
    FROM unnest(entry_stream, entry_seqs, entry_ids, entry_kinds, entry_bodies)
        AS entry (stream, seq, id, kind, body);
    FOR at IN 1 .. cardinality(fold_runs) LOOP
        UPDATE run_folds SET fold = folds[at] WHERE run = fold_runs[at] AND scope = fold_scopes[at];
        IF NOT FOUND THEN
            INSERT INTO run_folds (run, scope, fold) VALUES (fold_runs[at], fold_scopes[at], folds[at]);
        END IF;
    END LOOP;
    FOR at IN 1 .. cardinality(lease_runs) LOOP
        UPDATE leases SET expires_at = now() + hold_ms * interval '1 millisecond'
        WHERE run = lease_runs[at] AND epoch = lease_epochs[at]
            AND expires_at < now() + hold_ms * interval '0.8 milliseconds';
    END LOOP;
END
$$;
