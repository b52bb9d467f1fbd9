DELETE FROM signing_keys WHERE id = ANY ($1)
