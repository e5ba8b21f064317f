-- modify "properties" table
ALTER TABLE "properties" ADD COLUMN "deleting_at" timestamptz NULL;
