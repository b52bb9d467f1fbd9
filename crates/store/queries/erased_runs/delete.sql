DELETE FROM erased_runs WHERE run = ANY ($1)
