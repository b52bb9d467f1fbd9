INSERT INTO approval_policies (tenant, version, policy, created_by) VALUES ($1, $2, $3, $4)
