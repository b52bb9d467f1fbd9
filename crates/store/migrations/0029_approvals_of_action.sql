-- Finds earlier questions about the same action.
CREATE INDEX approvals_of_action ON approvals (session, action_digest) WHERE action_digest IS NOT NULL;
