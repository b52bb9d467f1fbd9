SELECT create_message_partitions($1, $2) IS NULL AS "done!"
