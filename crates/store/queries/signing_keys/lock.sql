-- One replica at a time decides on the keys; the lock goes with the transaction.
SELECT pg_advisory_xact_lock(hashtext('guildhall.signing_keys'))
