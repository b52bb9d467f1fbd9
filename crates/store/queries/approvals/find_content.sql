SELECT approval.sealed_content FROM approvals AS approval WHERE approval.id = $1
