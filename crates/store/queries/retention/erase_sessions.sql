SELECT sessions AS "sessions!", runs AS "runs!", last_session
FROM erase_sessions($1, $2, $3, $4, $5)
