INSERT INTO workspace_bundles (run, tenant, size_bytes) VALUES ($1, $2, $3)
