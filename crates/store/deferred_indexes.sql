-- Indexes that are built after readiness: see src/deferred_indexes.rs. One statement a line.
-- Most serve a foreign key: without it, deleting a row reads the whole table that refers to it. `enrolments_valid` serves the check
-- of a profile; `session_reads_unread`, `sessions_changed` and `sessions_running` serve the default list of sessions.
CREATE INDEX approval_rules_of_approval ON approval_rules (approval);
CREATE INDEX approval_rules_of_run ON approval_rules (run);
CREATE INDEX approval_rules_of_session ON approval_rules (session);
CREATE INDEX approvals_of_command ON approvals (command);
CREATE INDEX enrolments_of_run ON enrolments (run) WHERE run IS NOT NULL;
CREATE INDEX enrolments_valid ON enrolments (tenant, expires_at) WHERE revoked_at IS NULL;
CREATE INDEX leases_of_runner ON leases (runner);
CREATE INDEX runner_jobs_of_command ON runner_jobs (command) WHERE command IS NOT NULL;
CREATE INDEX session_reads_unread ON session_reads (principal, reader, session) WHERE unread;
CREATE INDEX sessions_changed ON sessions (tenant, changed_in);
CREATE INDEX sessions_running ON sessions (tenant, id) WHERE running;
CREATE INDEX workspace_diffs_of_command ON workspace_diffs (command);
