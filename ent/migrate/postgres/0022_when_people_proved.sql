-- modify "person_sessions" table
ALTER TABLE "person_sessions" ADD COLUMN "proved_at" timestamptz NULL;
