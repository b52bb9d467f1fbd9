SELECT
    current_setting('fsync') AS "fsync!",
    current_setting('synchronous_commit') AS "synchronous_commit!"
