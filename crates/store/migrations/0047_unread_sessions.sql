-- Which sessions a reader has not read, without a look at all that it has read: see ADR 053.

-- The transaction that created the session or last changed what decides whether it is unread. A trigger, so that older replicas set
-- it too during an upgrade. Rows from before this migration have 0.
ALTER TABLE sessions ADD COLUMN changed_in bigint NOT NULL DEFAULT 0;

ALTER TABLE sessions ALTER COLUMN changed_in SET DEFAULT pg_current_xact_id()::text::bigint;

CREATE FUNCTION set_session_changed_in() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    NEW.changed_in := pg_current_xact_id()::text::bigint;
    RETURN NEW;
END
$$;

CREATE TRIGGER session_changed BEFORE UPDATE OF version, last_run ON sessions
FOR EACH ROW
WHEN (NEW.version IS DISTINCT FROM OLD.version OR NEW.last_run IS DISTINCT FROM OLD.last_run)
EXECUTE FUNCTION set_session_changed_in();

-- Set for settled sessions that were unread. It may stay after the session was read, so that lists compare the versions too.
ALTER TABLE session_reads ADD COLUMN unread boolean NOT NULL DEFAULT false;

-- Which sessions of a tenant are settled for a reader: those from `settled_from` on that were changed by transactions before
-- `settled_before`. A settled session is read, or its row in `session_reads` says that it is unread. Numbers of transactions count
-- within one database cluster only: rows of another one, before a restored dump, are not used.
CREATE TABLE session_readers (
    tenant uuid NOT NULL,
    principal uuid NOT NULL,
    reader text NOT NULL,
    system_identifier bigint NOT NULL,
    settled_before bigint NOT NULL,
    settled_from uuid NOT NULL,
    PRIMARY KEY (tenant, principal, reader),
    FOREIGN KEY (tenant, principal) REFERENCES memberships (tenant, principal) ON DELETE CASCADE
) WITH (fillfactor = 70);
