-- Serialises changes of operators and other users; the lock ends with the transaction.
SELECT pg_advisory_xact_lock(hashtext('guildhall.first_operator'))
