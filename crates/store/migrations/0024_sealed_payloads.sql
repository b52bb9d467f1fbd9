-- The exact payload, encrypted, if `payload` is a redacted copy. Erased when the command ends.
ALTER TABLE commands
    ADD COLUMN sealed_payload bytea,
    ADD CHECK (sealed_payload IS NULL OR state IN ('pending', 'running'));

-- Replicas of earlier versions, which do not know the column, end commands too.
CREATE FUNCTION erase_sealed_payload() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.sealed_payload := NULL;
    RETURN NEW;
END
$$;

CREATE TRIGGER erase_sealed_payload BEFORE UPDATE OF state ON commands
FOR EACH ROW WHEN (NEW.sealed_payload IS NOT NULL AND NEW.state NOT IN ('pending', 'running'))
EXECUTE FUNCTION erase_sealed_payload();
