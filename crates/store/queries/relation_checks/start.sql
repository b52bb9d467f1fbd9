INSERT INTO relation_checks (agent, version) VALUES ($1, $2)
ON CONFLICT (agent) DO UPDATE SET version = excluded.version, after = NULL, ended_at = NULL, started_at = now()
