DELETE FROM journal_entries WHERE journal = 2 AND owner = ANY ($1)
