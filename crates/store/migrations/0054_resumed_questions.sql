-- The newest question that a run of a client answers. A client may resume a run under the id of that run.
ALTER TABLE client_runs ADD COLUMN resumed uuid;
