-- Questions of agents and their answers, for those who watch them: one stream per tenant.
CREATE TABLE journal_entries_approvals PARTITION OF journal_entries FOR VALUES IN (4);

-- Lists of one run or one session.
CREATE INDEX approvals_of_run ON approvals (run, id);
CREATE INDEX approvals_of_session ON approvals (session, id);

-- What a run waits for.
CREATE INDEX approvals_pending_of_run ON approvals (run) WHERE status = 'pending';
