SELECT size FROM transparency_log FOR UPDATE
