SELECT EXISTS (SELECT FROM service_keys WHERE tenant = $1 AND id = $2) AS "exists!"
