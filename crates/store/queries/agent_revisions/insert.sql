INSERT INTO agent_revisions (agent, revision, settings, changed_by) VALUES ($1, $2, $3, $4)
