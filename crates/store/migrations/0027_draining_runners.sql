-- A draining runner finishes its run and gets no other.
ALTER TABLE runners ADD COLUMN draining_at timestamptz;
