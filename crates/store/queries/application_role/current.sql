SELECT current_user::text AS "role!"
