UPDATE principals SET time_zone = $2 WHERE id = $1
