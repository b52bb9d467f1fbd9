-- What waits for a runner, oldest first.
CREATE INDEX commands_pending ON commands (created_at) WHERE state = 'pending';
