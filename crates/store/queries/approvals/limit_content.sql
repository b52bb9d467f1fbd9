UPDATE approvals SET content_ends_at = now() + make_interval(secs => $2::double precision)
WHERE id = $1 AND sealed_content IS NOT NULL
