-- One password per principal, found by the principal.
CREATE UNIQUE INDEX passwords_of_principal ON passwords (principal);

-- The list of users, newest first: most principals are external subjects and services.
CREATE INDEX principals_of_people ON principals (id) WHERE kind = 'person';
