-- Two uploads of a tenant are admitted one after the other.
SELECT id FROM tenants WHERE id = $1 FOR NO KEY UPDATE
