SELECT agent, version FROM relation_checks WHERE ended_at IS NULL ORDER BY started_at DESC LIMIT $1
