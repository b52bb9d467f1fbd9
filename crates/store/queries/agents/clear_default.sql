UPDATE agents SET is_default = false, updated_at = now() WHERE tenant = $1 AND is_default AND id <> $2
