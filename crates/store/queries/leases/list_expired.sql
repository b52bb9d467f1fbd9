SELECT run FROM leases WHERE expires_at + $1::float8 * interval '1 second' < now() ORDER BY expires_at LIMIT $2
