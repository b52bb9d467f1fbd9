-- The runner that was lost and that nobody has followed yet: whoever claims the run next takes over from it, and is told.
ALTER TABLE runs ADD COLUMN lost_runner uuid;
