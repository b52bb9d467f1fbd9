SELECT id, tenant, enrolment, name, backend_profiles, draining_at IS NOT NULL AS "is_draining!" FROM runners WHERE id = $1
