-- The external subject that has created a run, if its agent lets end users answer now.
SELECT run.created_by AS "principal!"
FROM runs AS run
INNER JOIN external_subjects AS subject ON subject.principal = run.created_by AND subject.tenant = run.tenant
INNER JOIN principals AS principal ON principal.id = run.created_by
INNER JOIN agents AS agent ON agent.id = run.agent
INNER JOIN agent_revisions AS revision ON revision.agent = agent.id AND revision.revision = agent.revision
WHERE run.id = $1
    AND principal.disabled_at IS NULL
    AND (revision.settings::jsonb #>> '{endUsers,answerApprovals}')::boolean
