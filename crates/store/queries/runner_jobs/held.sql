-- The runs that runners of a job hold.
SELECT lease.run, lease.runner
FROM leases AS lease
INNER JOIN runners AS runner ON runner.id = lease.runner
WHERE runner.enrolment = $1
