SELECT EXISTS (SELECT FROM enrolments WHERE tenant = $1 AND id = $2) AS "exists!"
