SELECT vote.approval FROM approval_votes AS vote WHERE vote.approval = ANY($1) AND vote.principal = $2
