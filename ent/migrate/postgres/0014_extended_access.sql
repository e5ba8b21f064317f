-- modify "reservations" table
ALTER TABLE "reservations" ADD COLUMN "extended_to" timestamptz NULL;
