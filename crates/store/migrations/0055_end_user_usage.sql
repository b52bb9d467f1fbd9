-- What an external subject has used of an agent: the turns of one minute, and the tokens of one day of UTC. One row for
-- each pair; a turn locks it until it is committed, so that concurrent turns are counted one after the other. Agents are
-- never deleted, hence no foreign key.
CREATE TABLE end_user_usage (
    principal uuid NOT NULL REFERENCES principals (id),
    agent uuid NOT NULL,
    minute timestamptz NOT NULL,
    turns integer NOT NULL CHECK (turns >= 0),
    day date NOT NULL,
    tokens bigint NOT NULL CHECK (tokens >= 0),
    PRIMARY KEY (principal, agent)
) WITH (fillfactor = 70);
