SELECT webhook FROM webhook_lanes WHERE webhook = $1 AND lane = $2 AND claim = $3 FOR UPDATE
