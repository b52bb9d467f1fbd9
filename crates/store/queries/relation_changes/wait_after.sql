-- Seconds until a user ($1) may change what they grant to an agent ($2) again, if they have done so $3 times within a day.
SELECT extract(EPOCH FROM change.changed_at + interval '1 day' - now())::float8 AS "seconds!"
FROM relations
JOIN relation_changes AS change ON change.relation = relations.id
WHERE relations.principal = $1 AND relations.agent = $2
    AND relations.changed_at > now() - interval '1 day' AND change.changed_at > now() - interval '1 day'
    AND change.kind <> $4
ORDER BY change.changed_at DESC
OFFSET $3::bigint - 1
LIMIT 1
