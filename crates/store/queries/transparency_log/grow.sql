UPDATE transparency_log SET size = $1
