SELECT n.level, n.index, n.hash
FROM unnest($1::smallint[], $2::bigint[]) AS asked (level, index)
JOIN transparency_nodes AS n ON n.level = asked.level AND n.index = asked.index
