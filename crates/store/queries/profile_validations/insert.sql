INSERT INTO profile_validations (id, tenant, profile, resource_version, run, command, created_by, deadline_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, now() + $8 * interval '1 millisecond')
