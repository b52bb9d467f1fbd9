-- The runner that was lost and whom the present holder, or the next, follows: whoever claims the run is told.
ALTER TABLE runs ADD COLUMN lost_runner uuid;
