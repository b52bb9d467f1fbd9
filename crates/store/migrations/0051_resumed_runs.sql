-- A run of a client that answers the questions of a turn has no message.
ALTER TABLE client_runs ALTER COLUMN message DROP NOT NULL;

-- The parked turn that a turn continues. The server has sent it, so it has no message of a person.
ALTER TABLE commands ADD COLUMN continues uuid;
