DELETE FROM e2ee_prekeys
WHERE (inbox, device) IN (
    SELECT old.inbox, old.device FROM e2ee_prekeys AS old WHERE old.stored_at < $1 ORDER BY old.stored_at LIMIT $2
)
