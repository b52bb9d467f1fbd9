UPDATE unknown_names SET expires_at = expires_at WHERE slot = $1
