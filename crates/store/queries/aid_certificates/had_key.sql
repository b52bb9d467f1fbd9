SELECT EXISTS (SELECT FROM aid_certificates WHERE aid = $1 AND key_fingerprint = $2) AS "exists!"
