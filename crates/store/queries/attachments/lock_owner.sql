-- Two uploads of an owner are admitted one after the other.
SELECT pg_advisory_xact_lock(hashtext('attachments'), hashtext($1)) IS NULL AS "locked!"
