UPDATE aid_certificates SET replaced_at = $2 WHERE aid = $1 AND replaced_at IS NULL
