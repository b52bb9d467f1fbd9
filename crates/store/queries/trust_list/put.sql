-- The version rises when the roots are others, and never falls.
INSERT INTO trust_list AS t (version, content_hash) VALUES (1, $1)
ON CONFLICT (only_row) DO UPDATE SET version = t.version + 1, content_hash = excluded.content_hash
WHERE t.content_hash <> excluded.content_hash
