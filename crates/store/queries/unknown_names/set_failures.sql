UPDATE unknown_names SET failures = $2, expires_at = now() + make_interval(secs => $3) WHERE slot = $1
