DELETE FROM e2ee_signed_prekeys
WHERE (inbox, device, spk_id) IN (
    SELECT old.inbox, old.device, old.spk_id FROM e2ee_signed_prekeys AS old WHERE old.stored_at < $1 ORDER BY old.stored_at LIMIT $2
)
