-- The attempt that holds a run, and the attempt that ran a command: the one of the runner job that started the runner,
-- or else one of its own. Rows of earlier versions have none.
ALTER TABLE leases ADD COLUMN attempt uuid;
ALTER TABLE commands ADD COLUMN attempt uuid;
