SELECT
    e.index, e.logged_at AS "logged_at: Timestamp",
    c.serial, c.aid, c.der, c.fingerprint
FROM transparency_entries AS e
JOIN aid_certificates AS c ON c.serial = e.serial
WHERE e.serial = $1
