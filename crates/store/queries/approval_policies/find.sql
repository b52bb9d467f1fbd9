SELECT policy.version, policy.policy FROM approval_policies AS policy WHERE policy.tenant = $1 AND policy.version = $2
