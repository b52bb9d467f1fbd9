SELECT coalesce(sum(size_bytes), 0)::bigint AS "bytes!" FROM workspace_bundles WHERE tenant = $1
