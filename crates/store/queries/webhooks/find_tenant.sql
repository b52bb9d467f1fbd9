SELECT webhooks.tenant FROM webhooks WHERE webhooks.id = $1
