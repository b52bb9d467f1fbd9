DELETE FROM attachments WHERE id = ANY($1) AND session_count = 0
