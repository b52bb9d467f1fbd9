SELECT
    id,
    public_key,
    sealed_private_key,
    created_at AS "created_at: Timestamp",
    signs_from AS "signs_from: Timestamp",
    signs_until AS "signs_until: Timestamp",
    verifies_until AS "verifies_until: Timestamp"
FROM signing_keys
ORDER BY id
