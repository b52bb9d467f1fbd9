-- Also of a disabled user.
SELECT
    name,
    failures AS "failures: Vec<Timestamp>"
FROM passwords
WHERE principal = $1
FOR UPDATE
