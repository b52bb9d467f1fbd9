DELETE FROM handoffs WHERE principal = $1
