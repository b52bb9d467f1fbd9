SELECT
    e.index, e.logged_at AS "logged_at: Timestamp",
    c.serial AS "serial?", c.aid AS "aid?", c.der AS "der?", c.fingerprint AS "fingerprint?",
    m.agent AS "agent?", m.version AS "version?", m.hash AS "hash?"
FROM transparency_entries AS e
LEFT JOIN aid_certificates AS c ON c.serial = e.serial
LEFT JOIN agent_manifests AS m ON m.log_index = e.index
WHERE e.serial = $1
