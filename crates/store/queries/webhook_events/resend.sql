UPDATE webhook_events SET state = 'waiting', finished_at = NULL, attempts = 0
WHERE webhook = $1 AND number = ANY($2) AND state <> 'waiting'
