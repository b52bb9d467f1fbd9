SELECT count(*) AS "count!" FROM webhooks WHERE tenant = $1
