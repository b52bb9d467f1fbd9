SELECT
    rule.id, rule.tenant, rule.approval, rule.action_digest, rule.scope, rule.run, rule.session, rule.agent, rule.project,
    rule.effect, rule.policy_version, rule.author, rule.uses_left, rule.used, rule.revoked_at IS NOT NULL AS "is_revoked!",
    rule.created_at AS "created_at: Timestamp", rule.expires_at AS "expires_at: Timestamp"
FROM approval_rules AS rule
WHERE rule.tenant = $1 AND rule.revoked_at IS NULL AND rule.expires_at > now() AND ($2::uuid IS NULL OR rule.id < $2)
ORDER BY rule.id DESC
LIMIT $3
