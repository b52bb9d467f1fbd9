DELETE FROM handoff_confirmations WHERE principal = $1
