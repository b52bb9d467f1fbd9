UPDATE threads SET used_at = now() WHERE session = $1
