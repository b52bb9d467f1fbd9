-- Only what a turn of the run's session has named.
SELECT attachments.id, attachments.tenant, owner, mime_type, size_bytes
FROM attachments
INNER JOIN attachment_sessions ON attachment = attachments.id
INNER JOIN runs ON runs.session = attachment_sessions.session
WHERE attachments.id = $1 AND runs.id = $2 AND stored_at IS NOT NULL AND removing_since IS NULL
