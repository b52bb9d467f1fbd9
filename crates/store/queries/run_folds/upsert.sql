INSERT INTO run_folds (run, scope, fold)
SELECT $1, changed.scope, changed.fold FROM unnest($2::uuid[], $3::text[]) AS changed (scope, fold)
ON CONFLICT (run, scope) DO UPDATE SET fold = excluded.fold
