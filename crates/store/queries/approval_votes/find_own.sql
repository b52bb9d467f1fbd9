SELECT vote.option_id, vote.effect, vote.content_digest
FROM approval_votes AS vote WHERE vote.approval = $1 AND vote.principal = $2
