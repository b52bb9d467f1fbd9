SELECT now() AS "now!: SqlTimestamp"
