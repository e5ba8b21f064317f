-- modify "notices" table
ALTER TABLE "notices" ADD COLUMN "parameters" jsonb NULL;
