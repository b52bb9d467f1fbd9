SELECT count(*) AS "parts!" FROM workspace_bundle_parts WHERE run = $1
