DELETE FROM relation_notices WHERE relation = ANY($1) AND manifest_version < $2
