SELECT id FROM runner_jobs WHERE run = $1 AND ended_at IS NULL AND kind <> 'warm'
