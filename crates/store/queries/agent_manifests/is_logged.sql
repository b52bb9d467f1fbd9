SELECT log_index IS NOT NULL AS "is_logged!" FROM agent_manifests WHERE agent = $1 AND version = $2
