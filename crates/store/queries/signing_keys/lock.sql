-- One replica at a time rotates the keys; the lock ends with the transaction.
SELECT pg_advisory_xact_lock(hashtext('guildhall.signing_keys'))
