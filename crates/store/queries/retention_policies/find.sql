SELECT history_days FROM retention_policies WHERE tenant = $1
