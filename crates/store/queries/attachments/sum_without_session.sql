-- An upload that did not end within two minutes has failed, and does not count.
SELECT coalesce(sum(greatest(size_bytes, $3)), 0)::bigint AS "bytes!" FROM attachments
WHERE owner = $1
    AND tenant = $2
    AND session_count = 0
    AND (stored_at IS NOT NULL OR created_at > now() - interval '2 minutes')
