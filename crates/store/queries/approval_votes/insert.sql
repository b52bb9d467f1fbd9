INSERT INTO approval_votes (approval, principal, option_id, effect, content_digest, sealed_content)
VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (approval, principal) DO NOTHING
