-- The turn that continues another one of the same run.
SELECT id FROM commands WHERE run = $1 AND continues = $2 ORDER BY ordinal DESC LIMIT 1
