-- A newer manifest does not start the comparison again from the first relation: it goes on where the older one was, wraps around,
-- and ends where it began. Null: it began at the first relation.
ALTER TABLE relation_checks
ADD COLUMN began_after uuid,
ADD COLUMN has_wrapped boolean NOT NULL DEFAULT false;
