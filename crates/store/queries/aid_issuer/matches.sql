SELECT name = $1 AND root_fingerprint = $2 AS "matches!" FROM aid_issuer
