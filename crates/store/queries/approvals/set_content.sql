UPDATE approvals SET sealed_content = $2 WHERE id = $1
