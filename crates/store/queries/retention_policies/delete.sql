DELETE FROM retention_policies WHERE tenant = $1
