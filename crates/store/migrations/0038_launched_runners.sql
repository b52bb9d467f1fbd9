-- Runners that the server starts act as one principal, which has no role: a process leaves no principal behind. Their run
-- tokens name the runner, and with it the enrolment that may be revoked.
INSERT INTO principals (id, kind, name)
VALUES ('00000000-0000-8000-8000-000000000001', 'service', 'launched runners');

ALTER TABLE enrolments DROP CONSTRAINT enrolments_principal_key;
