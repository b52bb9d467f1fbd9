SELECT principal FROM external_subjects WHERE tenant = $1 AND subject = $2
