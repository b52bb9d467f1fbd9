DELETE FROM aid_reservations WHERE name = $1
