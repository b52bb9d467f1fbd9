-- The audit logs that a sealer has to look at. Reading the heads of all logs would cost more with each tenant. A trigger marks a
-- log, so that older replicas mark it too during an upgrade. Every writer of a log holds the lock of its head; a sealer
-- removes the mark under the same lock, so that no entry is left without one.
CREATE TABLE unsealed_logs (
    journal smallint NOT NULL,
    owner uuid NOT NULL,
    PRIMARY KEY (journal, owner)
);

-- As the owner of the table: replicas that run as another role write before they are granted the new table.
CREATE FUNCTION mark_unsealed_log() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
    INSERT INTO unsealed_logs (journal, owner) VALUES (NEW.journal, NEW.owner) ON CONFLICT DO NOTHING;
    RETURN NULL;
END
$$;

CREATE TRIGGER unsealed_log_appended AFTER INSERT OR UPDATE OF last_seq ON journal_heads
FOR EACH ROW WHEN (NEW.journal = 1) EXECUTE FUNCTION mark_unsealed_log();
