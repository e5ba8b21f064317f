-- modify "mappings" table
ALTER TABLE "mappings" ADD COLUMN "parent_external_id" character varying NULL;
-- a mapping of a bed has the room that was last read
UPDATE "mappings" SET "parent_external_id" = (SELECT p."parent_external_id" FROM "partner_spaces" p WHERE p."integration_id" = "mappings"."integration_id" AND p."external_id" = "mappings"."external_id");
