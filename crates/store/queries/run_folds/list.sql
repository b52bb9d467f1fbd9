SELECT scope, fold FROM run_folds WHERE run = $1 AND scope = ANY ($2)
