INSERT INTO journal_heads (journal, owner) VALUES ($1, $2) ON CONFLICT DO NOTHING
