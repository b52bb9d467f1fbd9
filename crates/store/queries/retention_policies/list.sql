SELECT tenant, history_days FROM retention_policies ORDER BY tenant
