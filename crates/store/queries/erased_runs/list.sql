SELECT run FROM erased_runs WHERE run >= $1 AND run < $2 ORDER BY run LIMIT $3
