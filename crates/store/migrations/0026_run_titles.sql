-- The first words of the first turn of a run. Runs of earlier versions have none.
ALTER TABLE runs ADD COLUMN title text CHECK (char_length(title) <= 72);
