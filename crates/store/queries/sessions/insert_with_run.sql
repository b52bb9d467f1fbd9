-- A session with its first run, which is inserted next.
INSERT INTO sessions (id, tenant, project, backend_profile, created_by, expires_at, runs, active_run, last_run)
VALUES ($1, $2, $3, $4, $5, now() + $6::double precision * interval '1 millisecond', 1, $7, $7)
