SELECT tenant FROM approvals WHERE id = $1
