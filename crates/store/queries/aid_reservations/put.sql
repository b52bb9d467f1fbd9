INSERT INTO aid_reservations (name, address, owner, expires_at) VALUES ($1, $2::text::inet, $3, $4)
ON CONFLICT (name) DO UPDATE SET address = excluded.address, owner = excluded.owner, expires_at = excluded.expires_at
