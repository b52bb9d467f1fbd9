UPDATE runs SET state = CASE WHEN $3::boolean THEN 'cancelling' ELSE state END, cancel_seq = $2 WHERE id = $1
