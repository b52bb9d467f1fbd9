SELECT size, head_size, head_root, head_at AS "head_at: Timestamp", head_signature FROM transparency_log
