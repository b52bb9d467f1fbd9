SELECT journal_run_parts($1) IS NULL AS "done!"
