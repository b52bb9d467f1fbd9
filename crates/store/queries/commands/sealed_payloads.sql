SELECT
    command.id,
    command.sealed_payload AS "sealed_payload!"
FROM commands AS command
WHERE command.id = ANY($1) AND command.sealed_payload IS NOT NULL
