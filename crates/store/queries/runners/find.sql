SELECT id, tenant, enrolment, name, backend_profiles FROM runners WHERE id = $1
