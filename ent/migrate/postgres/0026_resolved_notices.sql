-- modify "notices" table
ALTER TABLE "notices" ADD COLUMN "resolved_at" timestamptz NULL;
