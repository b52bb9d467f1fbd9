DELETE FROM relation_notices WHERE relation = $1
