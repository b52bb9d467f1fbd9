-- Lists keys that an earlier version has stored in the table.
SELECT agent, sealed_key FROM agent_inboxes WHERE sealed_key <> '' ORDER BY agent LIMIT $1
