DELETE FROM webhooks WHERE tenant = $1 AND id = $2
