-- modify "mappings" table
ALTER TABLE "mappings" ADD COLUMN "parent_external_id" character varying NULL;
