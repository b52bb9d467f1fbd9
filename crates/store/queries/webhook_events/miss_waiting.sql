UPDATE webhook_events SET state = 'missed', finished_at = now() WHERE webhook = $1 AND state = 'waiting'
