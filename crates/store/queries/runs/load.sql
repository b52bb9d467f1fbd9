-- A run with its open commands, the folds of these and of the run, the storage of its session, and whether the enrolment of the
-- runner $2 may serve it (see enrolments/is_unrevoked.sql). One statement for everything that a request needs of a run.
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
    json_build_object(
        'open', open.commands,
        'folds', (
            SELECT coalesce(json_object_agg(fold.scope, fold.fold), '{}')
            FROM run_folds AS fold
            WHERE fold.run = run.id AND fold.scope = ANY (open.ids || '00000000-0000-0000-0000-000000000000'::uuid)
        ),
        'storage_kind', session.storage_kind,
        'thread_id', session.thread_id,
        'has_open_approvals', EXISTS (
            SELECT FROM approvals AS approval
            WHERE approval.command = ANY (open.ids)
                AND approval.status IN ('pending', 'decided', 'expired', 'delivering', 'delivered')
        ),
        'is_authorized', EXISTS (
            SELECT FROM runners AS runner
            INNER JOIN enrolments AS enrolment ON enrolment.id = runner.enrolment
            INNER JOIN principals AS principal ON principal.id = enrolment.principal
            WHERE runner.id = $2
                AND (enrolment.tenant = run.tenant OR (enrolment.tenant IS NULL AND enrolment.run = run.id))
                AND enrolment.revoked_at IS NULL
                AND principal.disabled_at IS NULL
        )
    )::text AS "work?"
FROM runs AS run
INNER JOIN tenants AS tenant ON tenant.id = run.tenant
INNER JOIN sessions AS session ON session.id = run.session
LEFT JOIN leases AS lease ON lease.run = run.id
CROSS JOIN LATERAL (
    SELECT
        coalesce(json_agg(command ORDER BY command.ordinal), '[]') AS commands,
        array_agg(command.id) AS ids
    FROM (
        SELECT
            stored.id, stored.run, stored.ordinal, stored.kind, stored.payload, stored.target, stored.state, stored.epoch,
            stored.cancelling, stored.attempt, stored.failure_kind, stored.failure_message, stored.created_by,
            stored.created_at, stored.acked_at, stored.delivered_seq, stored.ended_at,
            stored.sealed_payload IS NOT NULL AS is_sealed
        FROM commands AS stored
        WHERE stored.run = run.id AND stored.state IN ('pending', 'running')
    ) AS command
) AS open
WHERE run.id = $1
