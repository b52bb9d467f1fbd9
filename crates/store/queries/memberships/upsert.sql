INSERT INTO memberships (tenant, principal, role) VALUES ($1, $2, $3)
ON CONFLICT (tenant, principal) DO UPDATE SET role = excluded.role
