INSERT INTO runners (id, tenant, enrolment, name, placement, backend_profiles) VALUES ($1, $2, $3, $4, $5, $6)
RETURNING id, tenant, enrolment, name, backend_profiles, draining_at IS NOT NULL AS "is_draining!"
