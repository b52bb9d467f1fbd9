SELECT
    rule.id, rule.tenant, rule.approval, rule.action_digest, rule.scope, rule.run, rule.session, rule.agent, rule.project,
    rule.effect, rule.policy_version, rule.author, rule.uses_left, rule.used, rule.revoked_at IS NOT NULL AS "is_revoked!",
    rule.created_at AS "created_at: Timestamp", rule.expires_at AS "expires_at: Timestamp"
FROM approval_rules AS rule
WHERE rule.id = $1
