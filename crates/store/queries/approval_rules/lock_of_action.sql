SELECT
    rule.id, rule.tenant, rule.approval, rule.action_digest, rule.scope, rule.run, rule.session, rule.agent, rule.project,
    rule.effect, rule.policy_version, rule.author, rule.uses_left, rule.used, rule.revoked_at IS NOT NULL AS "is_revoked!",
    rule.created_at AS "created_at: Timestamp", rule.expires_at AS "expires_at: Timestamp"
FROM approval_rules AS rule
WHERE rule.tenant = $1 AND rule.action_digest = $2 AND rule.revoked_at IS NULL AND rule.expires_at > now()
    AND rule.policy_version = $3
    AND CASE rule.scope
        WHEN 'run' THEN rule.run = $4
        WHEN 'session' THEN rule.session = $5
        ELSE rule.agent = $6 AND rule.project = $7
    END
-- Denials first: one of them wins over any number of allowances.
ORDER BY rule.effect DESC, rule.id
LIMIT $8
FOR UPDATE OF rule
