-- A run with its lease, and the current time to compare the expiry with.
SELECT
    run.id,
    run.tenant,
    tenant.slug AS tenant_slug,
    run.session,
    run.ordinal,
    run.title,
    run.project,
    run.provider,
    run.backend_profile,
    run.workspace_ref,
    run.execution_policy,
    run.trace_sink,
    run.created_by,
    run.created_at AS "created_at: Timestamp",
    run.state,
    run.terminal_status,
    run.failure_kind,
    run.failure_message,
    run.ended_at AS "ended_at: Timestamp",
    run.cancel_seq,
    run.waiting_since AS "waiting_since: Timestamp",
    run.input_tokens,
    run.cached_input_tokens,
    run.output_tokens,
    run.active_ms,
    run.tool_calls,
    run.lost_runner,
    (
        SELECT min(approval.expires_at) FROM approvals AS approval
        WHERE approval.run = run.id AND approval.status = 'pending' AND NOT approval.parked
    ) AS "asking_until?: Timestamp",
    (
        SELECT min(approval.expires_at) FROM approvals AS approval
        WHERE approval.run = run.id AND approval.status = 'pending' AND approval.parked
    ) AS "parked_until?: Timestamp",
    lease.runner AS "lease_runner?",
    lease.epoch AS "lease_epoch?",
    lease.attempt AS "lease_attempt?",
    lease.expires_at - lease.hold_ms * interval '1 millisecond' AS "lease_renewed_at?: Timestamp",
    lease.expires_at AS "lease_expires_at?: Timestamp",
    clock_timestamp() AS "now!: Timestamp"
FROM runs AS run
INNER JOIN tenants AS tenant ON tenant.id = run.tenant
LEFT JOIN leases AS lease ON lease.run = run.id
WHERE run.id = $1
