-- What the holders of these runs wait for. A runner whose enrolment is for any run of its tenant should release an idle run
-- when another one waits.
SELECT
    run.id AS "id!",
    run.commands AS "commands!",
    run.cancel_seq AS "cancel_seq!",
    run.state = 'ended' AS "is_ended!",
    lease.epoch AS "epoch?",
    coalesce(
        (enrolment.tenant = run.tenant OR (enrolment.tenant IS NULL AND enrolment.run = run.id))
        AND enrolment.revoked_at IS NULL
        AND principal.disabled_at IS NULL,
        false
    ) AS "is_authorized!",
    coalesce(runner.draining_at IS NOT NULL, false)
    AND NOT EXISTS (
        SELECT FROM commands AS command
        WHERE command.run = run.id AND command.state IN ('pending', 'running')
    ) AS "must_release!",
    coalesce(
        enrolment.run IS NULL
        AND runner.tenant IS NOT NULL
        AND EXISTS (
            SELECT FROM waiting_runs AS waiting
            WHERE waiting.tenant = runner.tenant AND waiting.backend_profile = ANY (runner.backend_profiles)
        ),
        false
    ) AS "is_needed_elsewhere!"
FROM runs AS run
LEFT JOIN leases AS lease ON lease.run = run.id
LEFT JOIN runners AS runner ON runner.id = lease.runner
LEFT JOIN enrolments AS enrolment ON enrolment.id = runner.enrolment
LEFT JOIN principals AS principal ON principal.id = enrolment.principal
WHERE run.id = ANY ($1)
