SELECT principal, revision FROM relation_heads WHERE principal = ANY($1)
