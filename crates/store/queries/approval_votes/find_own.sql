SELECT vote.option_id FROM approval_votes AS vote WHERE vote.approval = $1 AND vote.principal = $2
