-- The runs that a runner can claim: open, with a pending command, and without a lease. A claim reads the first rows of an
-- index, however many runs wait. Triggers keep the rows, so that older replicas keep them too during an upgrade; every
-- writer holds the lock of the run's journal head.
CREATE TABLE waiting_runs (
    run uuid PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,
    tenant uuid NOT NULL,
    backend_profile text NOT NULL,
    -- When the oldest pending command was created.
    since timestamptz NOT NULL
) WITH (fillfactor = 70);

CREATE INDEX waiting_runs_by_profile ON waiting_runs (tenant, backend_profile, since);
CREATE INDEX waiting_runs_by_time ON waiting_runs (since);

CREATE FUNCTION refresh_waiting_run(changed uuid) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    oldest timestamptz;
BEGIN
    SELECT min(command.created_at) INTO oldest
    FROM commands AS command
    INNER JOIN runs AS run ON run.id = command.run
    WHERE command.run = changed
        AND command.state = 'pending'
        AND run.state = 'open'
        AND NOT EXISTS (SELECT FROM leases AS lease WHERE lease.run = changed);
    IF oldest IS NULL THEN
        DELETE FROM waiting_runs WHERE run = changed;
    ELSE
        INSERT INTO waiting_runs (run, tenant, backend_profile, since)
        SELECT run.id, run.tenant, run.backend_profile, oldest FROM runs AS run WHERE run.id = changed
        ON CONFLICT (run) DO UPDATE SET since = excluded.since WHERE waiting_runs.since <> excluded.since;
    END IF;
END
$$;

CREATE FUNCTION refresh_waiting_run_of_row() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM refresh_waiting_run(CASE WHEN TG_OP = 'DELETE' THEN OLD.run ELSE NEW.run END);
    RETURN NULL;
END
$$;

CREATE FUNCTION refresh_waiting_run_of_run() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM refresh_waiting_run(NEW.id);
    RETURN NULL;
END
$$;

CREATE TRIGGER waiting_run_inserted_command AFTER INSERT ON commands
FOR EACH ROW WHEN (NEW.state = 'pending') EXECUTE FUNCTION refresh_waiting_run_of_row();

CREATE TRIGGER waiting_run_updated_command AFTER UPDATE OF state ON commands
FOR EACH ROW WHEN ((OLD.state = 'pending') <> (NEW.state = 'pending'))
EXECUTE FUNCTION refresh_waiting_run_of_row();

-- A renewal updates a lease and changes nothing here.
CREATE TRIGGER waiting_run_changed_lease AFTER INSERT OR DELETE ON leases
FOR EACH ROW EXECUTE FUNCTION refresh_waiting_run_of_row();

CREATE TRIGGER waiting_run_changed_run AFTER UPDATE OF state ON runs
FOR EACH ROW WHEN (OLD.state <> NEW.state) EXECUTE FUNCTION refresh_waiting_run_of_run();

INSERT INTO waiting_runs (run, tenant, backend_profile, since)
SELECT run.id, run.tenant, run.backend_profile, min(command.created_at)
FROM commands AS command
INNER JOIN runs AS run ON run.id = command.run
WHERE command.state = 'pending'
    AND run.state = 'open'
    AND NOT EXISTS (SELECT FROM leases AS lease WHERE lease.run = run.id)
GROUP BY run.id;

-- The tenants and profiles that have waiting runs. It steps through the index: its cost is the number of rows that it
-- returns, not that of the runs.
CREATE FUNCTION list_waiting_profiles() RETURNS TABLE (tenant uuid, backend_profile text) LANGUAGE sql STABLE AS $$
    WITH RECURSIVE found AS (
        (
            SELECT first.tenant, first.backend_profile
            FROM waiting_runs AS first
            ORDER BY first.tenant, first.backend_profile
            LIMIT 1
        )
        UNION ALL
        SELECT next.tenant, next.backend_profile
        FROM found
        CROSS JOIN LATERAL (
            SELECT later.tenant, later.backend_profile
            FROM waiting_runs AS later
            WHERE (later.tenant, later.backend_profile) > (found.tenant, found.backend_profile)
            ORDER BY later.tenant, later.backend_profile
            LIMIT 1
        ) AS next
    )
    SELECT found.tenant, found.backend_profile FROM found
$$;

-- Runs without work are ended after a long time: the reconciler reads only those that are due.
CREATE INDEX runs_idle_since ON runs (waiting_since) WHERE state <> 'ended';
CREATE INDEX commands_running ON commands (run) WHERE state = 'running';

