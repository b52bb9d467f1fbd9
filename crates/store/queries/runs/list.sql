-- A page of runs, each with what its view needs. The canary turns of provider profiles appear in the full list only.
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
        'has_open_approvals', false,
        'is_authorized', false
    )::text AS "work?"
FROM (
    SELECT listed.*
    FROM runs AS listed
    WHERE listed.tenant = $1 AND listed.id < $2 AND ($3::boolean OR listed.state <> 'ended')
        AND ($3::boolean OR NOT EXISTS (SELECT 1 FROM profile_validations AS validation WHERE validation.run = listed.id))
    ORDER BY listed.id DESC
    LIMIT $4
) AS run
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
ORDER BY run.id DESC
