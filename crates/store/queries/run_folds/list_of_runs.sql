-- Folds of several runs, each by run and scope.
SELECT folds.run, folds.scope, folds.fold
FROM unnest($1::uuid [], $2::uuid []) AS wanted (run, scope)
INNER JOIN run_folds AS folds ON folds.run = wanted.run AND folds.scope = wanted.scope
