-- The lock keeps it from being removed until the transaction ends.
WITH attachment AS (
    SELECT id FROM attachments WHERE id = $1 AND stored_at IS NOT NULL AND removing_since IS NULL FOR NO KEY UPDATE
), added AS (
    INSERT INTO attachment_sessions (attachment, session) SELECT id, $2 FROM attachment
    ON CONFLICT (attachment, session) DO NOTHING
)
SELECT id FROM attachment
