-- Devices of the user read the relation again.
UPDATE relations SET revision = $2 WHERE id = $1
