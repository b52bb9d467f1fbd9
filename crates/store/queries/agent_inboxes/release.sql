UPDATE agent_inboxes SET claimed_until = now() + $2::float8 * interval '1 second' WHERE agent = $1
