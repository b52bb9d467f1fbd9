INSERT INTO aid_logins (login, aid) VALUES ($1, $2)
