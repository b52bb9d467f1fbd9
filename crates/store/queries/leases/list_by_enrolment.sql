-- The leases of the runners of an enrolment.
SELECT lease.run, lease.runner
FROM leases AS lease
INNER JOIN runners AS runner ON runner.id = lease.runner
WHERE runner.enrolment = $1
