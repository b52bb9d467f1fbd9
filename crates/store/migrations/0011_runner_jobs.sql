-- Runners that the server starts: because somebody asked, because a run had waited, or to have one warm. A row is written
-- before anything is started; how the process does comes back from the launcher. No row says how a run does.
CREATE TABLE runner_jobs (
    id uuid PRIMARY KEY,
    -- One process, started at most once, whoever tries.
    attempt uuid NOT NULL UNIQUE,
    kind text NOT NULL CHECK (kind IN ('asked', 'cold', 'warm')),
    profile text NOT NULL,
    -- A warm one has none until it has claimed a run.
    run uuid REFERENCES runs (id),
    command uuid REFERENCES commands (id),
    -- The sort of launcher, and which place of that sort has taken it.
    launcher text NOT NULL,
    place uuid,
    phase text NOT NULL DEFAULT 'pending'
        CHECK (phase IN ('pending', 'launching', 'running', 'succeeded', 'failed', 'lost')),
    -- What its runner came with. Its runners are those that registered under it.
    enrolment uuid,
    -- Begun, not ended: a server that is killed while it starts one has used its try up.
    tries integer NOT NULL DEFAULT 0,
    tried_at timestamptz,
    -- When its place last knew of it; sampled.
    seen_at timestamptz NOT NULL DEFAULT now(),
    exit_code integer,
    message text,
    created_by uuid REFERENCES principals (id),
    created_at timestamptz NOT NULL DEFAULT now(),
    launched_at timestamptz,
    ended_at timestamptz,
    CHECK (kind = 'warm' OR run IS NOT NULL),
    CHECK ((ended_at IS NOT NULL) = (phase IN ('succeeded', 'failed', 'lost')))
) WITH (fillfactor = 70);

CREATE INDEX runner_jobs_of_run ON runner_jobs (run, id) WHERE run IS NOT NULL;
CREATE INDEX runner_jobs_open ON runner_jobs (created_at) WHERE ended_at IS NULL;
-- A run has one on its way at most, also when two ask at once.
CREATE UNIQUE INDEX runner_jobs_one_open_a_run ON runner_jobs (run) WHERE ended_at IS NULL AND kind <> 'warm';
CREATE INDEX runner_jobs_failed ON runner_jobs (place, ended_at) WHERE phase = 'failed';
CREATE INDEX runner_jobs_of_enrolment ON runner_jobs (enrolment) WHERE ended_at IS NULL;
