INSERT INTO approval_rules (
    id, tenant, approval, action_digest, scope, run, session, agent, project, effect, policy_version, author, expires_at
)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
