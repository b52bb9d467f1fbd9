-- Also what a replica of an earlier version has left.
UPDATE approvals SET sealed_content = NULL
WHERE sealed_content IS NOT NULL AND status NOT IN ('pending', 'decided', 'delivering')
    AND (status <> 'void' OR content_ends_at < now())
