-- Whoever changes it waits for the end of the transaction.
SELECT history_days FROM retention_policies WHERE tenant = $1 FOR SHARE
