SELECT
    approval.id, approval.tenant, approval.session, approval.run, approval.command, approval.process, approval.sealed_question,
    approval.shown_digest, approval.action_digest, approval.policy_version, approval.status, approval.parked, approval.end_reason, approval.option_id, approval.effect,
    approval.decided_by_kind, approval.decided_by, approval.decided_at AS "decided_at: Timestamp",
    approval.created_at AS "created_at: Timestamp", approval.expires_at AS "expires_at: Timestamp",
    approval.escalated_at IS NOT NULL AS "is_escalated!"
FROM approvals AS approval
WHERE approval.command = $1 AND approval.status IN ('decided', 'void')
ORDER BY approval.id
