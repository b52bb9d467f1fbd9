SELECT run FROM leases WHERE expires_at < now() - $1::float8 * interval '1 second' ORDER BY expires_at LIMIT $2
