-- Certificates that are not in the log, in the order in which they were issued.
SELECT c.serial, c.der
FROM aid_certificates AS c
WHERE NOT EXISTS (SELECT FROM transparency_entries AS e WHERE e.serial = c.serial)
ORDER BY c.not_before, c.replaced_at NULLS LAST, c.serial
LIMIT $1
