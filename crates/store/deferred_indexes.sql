-- Indexes that are built after readiness: see src/deferred_indexes.rs. One statement a line.
-- Most serve a foreign key: without it, deleting a row reads the whole table that refers to it. `enrolments_valid` serves the check
-- of a profile.
CREATE INDEX approval_rules_of_approval ON approval_rules (approval);
CREATE INDEX approval_rules_of_run ON approval_rules (run);
CREATE INDEX approval_rules_of_session ON approval_rules (session);
CREATE INDEX approvals_of_command ON approvals (command);
CREATE INDEX enrolments_of_run ON enrolments (run) WHERE run IS NOT NULL;
CREATE INDEX enrolments_valid ON enrolments (tenant, expires_at) WHERE revoked_at IS NULL;
CREATE INDEX leases_of_runner ON leases (runner);
CREATE INDEX runner_jobs_of_command ON runner_jobs (command) WHERE command IS NOT NULL;
CREATE INDEX workspace_diffs_of_command ON workspace_diffs (command);
