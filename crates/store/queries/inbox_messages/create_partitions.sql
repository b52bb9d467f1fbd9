SELECT create_message_partitions($1) IS NULL AS "done!"
