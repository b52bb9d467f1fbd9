UPDATE webhook_events SET state = $2, finished_at = now() WHERE number = $1 AND state = 'waiting'
