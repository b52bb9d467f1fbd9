-- The conversations of a day that wait for the agent, without one of them. One that waits longer is not counted, so that
-- only the newest conversations are read.
SELECT count(*) AS "count!"
FROM threads AS thread
INNER JOIN sessions AS session ON session.id = thread.session
WHERE thread.owner = $1
    AND thread.agent = $2
    AND thread.used_at > now() - interval '1 day'
    AND session.running
    AND session.id IS DISTINCT FROM $3
