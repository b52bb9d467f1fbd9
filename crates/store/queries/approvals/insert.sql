INSERT INTO approvals (
    id, tenant, session, run, command, process, request, sealed_question, shown_digest, action_digest, policy_version,
    expires_at
)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
