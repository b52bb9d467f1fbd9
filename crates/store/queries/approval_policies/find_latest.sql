SELECT policy.version, policy.policy
FROM approval_policies AS policy
WHERE policy.tenant = $1
ORDER BY policy.version DESC
LIMIT 1
