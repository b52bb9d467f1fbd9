-- An enrolment may be of the installation's own pool, which is no tenant's; and it may be for one run alone. One of the
-- pool gets its run with its first claim, and never another: what a tenant's agent finds in a runner's hands opens no
-- other tenant's run.
ALTER TABLE enrolments ALTER COLUMN tenant DROP NOT NULL;
ALTER TABLE enrolments ADD COLUMN run uuid REFERENCES runs (id);
-- A runner of the pool belongs to no tenant.
ALTER TABLE runners ALTER COLUMN tenant DROP NOT NULL;
CREATE INDEX runners_of_enrolment ON runners (enrolment);
