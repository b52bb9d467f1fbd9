SELECT
    (pg_control_system()).system_identifier AS "system_identifier!",
    (pg_control_checkpoint()).timeline_id AS "timeline!"
