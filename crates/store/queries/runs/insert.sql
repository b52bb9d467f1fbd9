INSERT INTO runs (
    id, tenant, session, ordinal, project, provider, backend_profile, workspace_ref, execution_policy, trace_sink,
    created_by, agent, agent_revision
)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
