-- Serialises the creation of the first operator; the lock ends with the transaction.
SELECT pg_advisory_xact_lock(hashtext('guildhall.first_operator'))
