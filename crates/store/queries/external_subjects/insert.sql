INSERT INTO external_subjects (tenant, subject, principal) VALUES ($1, $2, $3) ON CONFLICT (tenant, subject) DO NOTHING
