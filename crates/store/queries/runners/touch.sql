-- Not with every poll: a runner polls every few seconds.
UPDATE runners SET seen_at = now() WHERE id = $1 AND seen_at < now() - interval '10 seconds'
