-- The running jobs of a launcher.
SELECT
    job.id,
    job.attempt,
    job.kind,
    job.profile,
    job.run,
    job.command,
    job.launcher,
    job.place AS launcher_id,
    job.phase,
    job.enrolment,
    job.exit_code,
    job.message,
    job.created_at AS "created_at: Timestamp",
    job.launched_at AS "launched_at: Timestamp",
    job.ended_at AS "ended_at: Timestamp",
    command.state AS "command_state?",
    (SELECT runner.id FROM runners AS runner WHERE runner.enrolment = job.enrolment LIMIT 1) AS runner
FROM runner_jobs AS job
LEFT JOIN commands AS command ON command.id = job.command
WHERE job.place = $1 AND job.phase = 'running' AND job.ended_at IS NULL
ORDER BY job.created_at
LIMIT $2
