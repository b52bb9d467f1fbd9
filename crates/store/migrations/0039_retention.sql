-- How long tenants keep their sessions. A tenant without a row keeps them for good.
CREATE TABLE retention_policies (
    tenant uuid PRIMARY KEY REFERENCES tenants (id),
    history_days integer NOT NULL CHECK (history_days BETWEEN 1 AND 3650),
    updated_by uuid NOT NULL REFERENCES principals (id),
    updated_at timestamptz NOT NULL DEFAULT now()
);

-- Runs that were erased and whose events are still stored. Events go with their partition, or row by row where a run of
-- the same partition is kept for longer.
CREATE TABLE erased_runs (
    run uuid PRIMARY KEY,
    erased_at timestamptz NOT NULL DEFAULT now()
);

-- Erases sessions that were last used before a time, with everything that belongs to them except the events of their
-- runs. Sessions are kept whole: a session with an open run, an open question, a remembered answer that other sessions
-- use, or stored files is not erased. Candidates are read in the order of their ids, which begin with a time, so that no
-- index on the hot columns is needed.
CREATE FUNCTION erase_sessions(
    of_tenant uuid, used_before timestamptz, evicted_before timestamptz, after uuid, at_most integer
) RETURNS TABLE (sessions bigint, runs bigint, last_session uuid)
LANGUAGE plpgsql
AS $$
DECLARE
    erased_sessions uuid[];
    erased_run_ids uuid[];
    erased_approvals uuid[];
BEGIN
    erased_sessions := ARRAY(
        SELECT session.id
        FROM sessions AS session
        WHERE session.tenant = of_tenant
            AND session.id > after
            AND session.id < journal_run_bound(used_before)
            AND session.updated_at < used_before
            AND session.active_run IS NULL
            AND (
                session.storage_kind = 'none'
                OR session.storage_removed_at IS NOT NULL
                OR session.storage_evicted_at < evicted_before
            )
            AND NOT EXISTS (
                SELECT FROM runs AS open_run WHERE open_run.session = session.id AND open_run.state <> 'ended'
            )
            AND NOT EXISTS (
                SELECT FROM runs AS job_run
                INNER JOIN runner_jobs AS job ON job.run = job_run.id
                WHERE job_run.session = session.id AND job.ended_at IS NULL
            )
            AND NOT EXISTS (
                SELECT FROM approvals AS question
                WHERE question.session = session.id AND question.status = 'pending'
            )
            AND NOT EXISTS (
                SELECT FROM approval_rules AS rule
                WHERE rule.session = session.id
                    AND rule.scope = 'agent-and-project'
                    AND rule.revoked_at IS NULL
                    AND rule.expires_at > now()
            )
        ORDER BY session.id
        LIMIT at_most
        FOR UPDATE SKIP LOCKED
    );
    erased_run_ids := ARRAY(SELECT run.id FROM runs AS run WHERE run.session = ANY (erased_sessions));
    erased_approvals := ARRAY(
        SELECT question.id FROM approvals AS question WHERE question.run = ANY (erased_run_ids)
    );
    DELETE FROM approval_rules WHERE approval = ANY (erased_approvals);
    DELETE FROM approval_votes WHERE approval = ANY (erased_approvals);
    DELETE FROM approvals WHERE id = ANY (erased_approvals);
    DELETE FROM profile_validations WHERE run = ANY (erased_run_ids);
    DELETE FROM workspace_diffs WHERE run = ANY (erased_run_ids);
    DELETE FROM runner_jobs WHERE run = ANY (erased_run_ids);
    DELETE FROM enrolments WHERE run = ANY (erased_run_ids);
    DELETE FROM leases WHERE run = ANY (erased_run_ids);
    DELETE FROM run_folds WHERE run = ANY (erased_run_ids);
    DELETE FROM commands WHERE run = ANY (erased_run_ids);
    DELETE FROM runs AS run WHERE run.id = ANY (erased_run_ids);
    DELETE FROM journal_heads WHERE journal = 2 AND owner = ANY (erased_run_ids);
    DELETE FROM session_reads WHERE session = ANY (erased_sessions);
    DELETE FROM sessions AS session WHERE session.id = ANY (erased_sessions);
    INSERT INTO erased_runs (run) SELECT unnest(erased_run_ids);
    RETURN QUERY SELECT
        cardinality(erased_sessions)::bigint,
        cardinality(erased_run_ids)::bigint,
        erased_sessions[cardinality(erased_sessions)];
END
$$;

-- The same partitions as before. A table is created beside its parent and attached: nobody waits for a lock on the parent.
CREATE OR REPLACE FUNCTION journal_run_parts(weeks integer) RETURNS void
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
            EXECUTE format('CREATE TABLE %I (LIKE journal_entries_run INCLUDING ALL)', part);
            EXECUTE format(
                'ALTER TABLE journal_entries_run ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)',
                part, journal_run_bound(monday), journal_run_bound(monday + interval '7 days')
            );
        END IF;
    END LOOP;
END
$$;
