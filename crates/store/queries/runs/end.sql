UPDATE runs
SET state = 'ended', terminal_status = $2, failure_kind = $3, failure_message = $4, ended_at = now()
WHERE id = $1
