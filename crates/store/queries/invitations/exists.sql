SELECT EXISTS (SELECT FROM invitations WHERE tenant = $1 AND id = $2) AS "exists!"
