-- Images that applications upload for messages. The content is in the object storage, under the tenant and the id. A row is
-- there before its object and until after it, so that no object is without a row.
CREATE TABLE attachments (
    id uuid PRIMARY KEY,
    tenant uuid NOT NULL REFERENCES tenants (id),
    owner uuid NOT NULL REFERENCES principals (id),
    mime_type text NOT NULL,
    size_bytes bigint NOT NULL CHECK (size_bytes > 0),
    created_at timestamptz NOT NULL DEFAULT now(),
    -- When the object was complete; without it, it is uploaded now, or the upload has failed.
    stored_at timestamptz,
    -- How many sessions use it, and whether one ever did.
    session_count integer NOT NULL DEFAULT 0 CHECK (session_count >= 0),
    is_used boolean NOT NULL DEFAULT false,
    -- When a replica began to remove it.
    removing_since timestamptz
);

CREATE INDEX attachments_without_session ON attachments (owner, tenant) INCLUDE (size_bytes, stored_at, created_at) WHERE session_count = 0;
CREATE INDEX removable_attachments ON attachments (created_at) WHERE session_count = 0;

-- The sessions that use an attachment. It is removed after the last of them.
CREATE TABLE attachment_sessions (
    attachment uuid NOT NULL REFERENCES attachments (id),
    session uuid NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    PRIMARY KEY (attachment, session)
);

CREATE INDEX attachments_of_session ON attachment_sessions (session);

-- The count is in the row of the attachment: who wants to remove it and who wants to use it lock the same row.
CREATE FUNCTION count_attachment_session() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        UPDATE attachments SET session_count = session_count + 1, is_used = true WHERE id = NEW.attachment;
    ELSE
        UPDATE attachments SET session_count = session_count - 1 WHERE id = OLD.attachment;
    END IF;
    RETURN NULL;
END
$$;

CREATE TRIGGER count_attachment_session AFTER INSERT OR DELETE ON attachment_sessions
FOR EACH ROW EXECUTE FUNCTION count_attachment_session();
