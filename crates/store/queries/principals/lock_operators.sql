-- Whoever decides on the first operator does so alone; the lock goes with the transaction.
SELECT pg_advisory_xact_lock(hashtext('guildhall.first_operator'))
