-- Whether a listener has lanes to claim.
SELECT EXISTS (
    SELECT FROM webhook_lanes WHERE webhook = $1 AND is_listener AND next_attempt_at <= now()
) AS "has_due!"
