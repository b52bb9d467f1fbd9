-- The keys of agents that the server answers for are files. Servers move those of earlier versions out of the table. What is moved is
-- empty and not NULL, so that replicas of earlier versions still read the rows. A later migration removes the column.
ALTER TABLE agent_inboxes ALTER COLUMN sealed_key SET DEFAULT '';
