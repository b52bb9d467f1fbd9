DELETE FROM replicas WHERE seen_at < now() - make_interval(secs => $1)
