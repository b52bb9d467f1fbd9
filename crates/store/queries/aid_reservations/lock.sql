SELECT host(address) AS "address!", owner, expires_at AS "expires_at: Timestamp"
FROM aid_reservations
WHERE name = $1
FOR UPDATE
