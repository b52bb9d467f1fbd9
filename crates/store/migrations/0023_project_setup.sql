-- How the project prepares a workspace: JSON. A project without it prepares nothing.
ALTER TABLE projects ADD COLUMN setup text CHECK (octet_length(setup) <= 32768);
