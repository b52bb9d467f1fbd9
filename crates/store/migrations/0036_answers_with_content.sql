-- The values of answers, encrypted. They are kept until the agent's process has them, or nobody can use them any more.
ALTER TABLE approval_votes
    -- Made with a key that is not in the database: recognises equal answers.
    ADD COLUMN content_digest bytea CHECK (octet_length(content_digest) = 32),
    ADD COLUMN sealed_content bytea CHECK (octet_length(sealed_content) <= 70000);

-- Of the decision.
ALTER TABLE approvals
    ADD COLUMN sealed_content bytea CHECK (octet_length(sealed_content) <= 70000),
    -- When an answer that was not delivered cannot be used any more.
    ADD COLUMN content_ends_at timestamptz;

ALTER TABLE approval_votes ALTER COLUMN sealed_content SET STORAGE EXTERNAL;
ALTER TABLE approvals ALTER COLUMN sealed_content SET STORAGE EXTERNAL;

CREATE INDEX approvals_with_content ON approvals (content_ends_at) WHERE sealed_content IS NOT NULL;
