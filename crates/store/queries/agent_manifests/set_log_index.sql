UPDATE agent_manifests SET log_index = $3 WHERE agent = $1 AND version = $2 AND log_index IS NULL
