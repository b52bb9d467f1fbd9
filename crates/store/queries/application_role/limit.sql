SELECT limit_application_role($1) IS NULL AS "done!"
