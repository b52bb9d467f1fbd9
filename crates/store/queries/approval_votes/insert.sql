INSERT INTO approval_votes (approval, principal, option_id, effect) VALUES ($1, $2, $3, $4)
ON CONFLICT (approval, principal) DO NOTHING
