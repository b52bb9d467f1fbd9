-- A run with its lease, and the current time to compare the expiry with.
SELECT
    run.id AS "id!",
    run.tenant AS "tenant!",
    tenant.slug AS "tenant_slug!",
    run.session AS "session!",
    run.ordinal AS "ordinal!",
    run.title AS "title?",
    run.project AS "project!",
    run.provider AS "provider!",
    run.backend_profile AS "backend_profile!",
    run.workspace_ref AS "workspace_ref!",
    run.execution_policy AS "execution_policy!",
    run.trace_sink AS "trace_sink?",
    run.created_by AS "created_by!",
    run.created_at AS "created_at!: Timestamp",
    run.state AS "state!",
    run.terminal_status AS "terminal_status?",
    run.failure_kind AS "failure_kind?",
    run.failure_message AS "failure_message?",
    run.ended_at AS "ended_at?: Timestamp",
    run.cancel_seq AS "cancel_seq!",
    run.waiting_since AS "waiting_since!: Timestamp",
    run.input_tokens AS "input_tokens!",
    run.cached_input_tokens AS "cached_input_tokens!",
    run.output_tokens AS "output_tokens!",
    run.active_ms AS "active_ms!",
    run.tool_calls AS "tool_calls!",
    run.lost_runner AS "lost_runner?",
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
    clock_timestamp() AS "now!: Timestamp",
    NULL::text AS "work?"
FROM runs AS run
INNER JOIN tenants AS tenant ON tenant.id = run.tenant
LEFT JOIN leases AS lease ON lease.run = run.id
WHERE run.id = $1
