-- Shared: two transactions that both rely on the role do not wait for each other; who changes it waits for both.
SELECT membership.role
FROM memberships AS membership
INNER JOIN principals AS principal ON principal.id = membership.principal
WHERE membership.tenant = $1 AND membership.principal = $2 AND principal.disabled_at IS NULL
    AND NOT EXISTS (
        SELECT 1 FROM service_keys AS service_key
        WHERE service_key.principal = membership.principal AND service_key.revoked_at IS NOT NULL
    )
FOR SHARE OF membership
