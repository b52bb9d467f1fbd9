-- A name that is reserved for nobody gets a principal of its own. Reservations of earlier versions belong to the operator who made them:
-- whoever registers the name would act for the operator.
ALTER TABLE aid_reservations ALTER COLUMN owner DROP NOT NULL;
UPDATE aid_reservations SET owner = NULL;
