UPDATE approval_votes SET sealed_content = NULL WHERE approval = $1 AND sealed_content IS NOT NULL
