DELETE FROM leases WHERE run = $1
