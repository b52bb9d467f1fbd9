-- The values of an answer come from the vote of the first who decided: those who decided gave the same ones.
UPDATE approvals
SET status = $2, parked = $3, end_reason = $4, option_id = $5, effect = $6, decided_by_kind = $7, decided_by = $8,
    decided_at = $9,
    sealed_content = CASE WHEN $10 THEN coalesce(
        sealed_content,
        (
            SELECT vote.sealed_content FROM approval_votes AS vote
            WHERE vote.approval = $1 AND $7 = 'people' AND vote.principal = ($8::uuid[])[1]
        )
    ) END
WHERE id = $1
