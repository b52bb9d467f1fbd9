INSERT INTO login_methods (issuer, subject, principal) VALUES ($1, $2, $3) ON CONFLICT (issuer, subject) DO NOTHING
