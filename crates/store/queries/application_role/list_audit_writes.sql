-- What the current role could do to stored audit entries, with the privileges of all roles that it is a member of. The
-- owner of a schema can drop its tables.
SELECT relation.relname::text AS "name!"
FROM pg_class AS relation
INNER JOIN pg_namespace AS space ON space.oid = relation.relnamespace
WHERE
    relation.relname IN ('journal_entries', 'journal_entries_audit', 'journal_seals', 'journal_checkpoints')
    AND space.nspname = current_schema()
    AND (
        pg_has_role(current_user, relation.relowner, 'MEMBER')
        OR pg_has_role(current_user, space.nspowner, 'MEMBER')
        OR has_table_privilege(current_user, relation.oid, 'UPDATE, DELETE, TRUNCATE, TRIGGER')
        OR has_any_column_privilege(current_user, relation.oid, 'UPDATE')
    )
ORDER BY relation.relname
