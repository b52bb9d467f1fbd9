-- The exact payload, encrypted, if `payload` is a redacted copy. Erased when the command ends.
ALTER TABLE commands
    ADD COLUMN sealed_payload bytea,
    ADD CHECK (sealed_payload IS NULL OR state IN ('pending', 'running'));
