-- A PIN refers to its grant or to its code. A PIN without its owner opens nothing that the server knows.
-- modify "pins" table
ALTER TABLE "pins" ALTER COLUMN "grant_id" DROP NOT NULL, ADD COLUMN "code_id" character varying NULL;
UPDATE pins SET code_id = grant_id, grant_id = NULL WHERE EXISTS (SELECT 1 FROM codes AS o WHERE o.id = pins.grant_id);
DELETE FROM pins WHERE code_id IS NULL AND NOT EXISTS (SELECT 1 FROM grants AS o WHERE o.id = pins.grant_id);
ALTER TABLE "pins" ADD CONSTRAINT "pins_one_owner" CHECK ((grant_id IS NULL) <> (code_id IS NULL)), ADD CONSTRAINT "pins_codes_code" FOREIGN KEY ("code_id") REFERENCES "codes" ("id") ON UPDATE NO ACTION ON DELETE NO ACTION, ADD CONSTRAINT "pins_grants_grant" FOREIGN KEY ("grant_id") REFERENCES "grants" ("id") ON UPDATE NO ACTION ON DELETE NO ACTION;
-- create index "pin_code_id" to table: "pins"
CREATE INDEX "pin_code_id" ON "pins" ("code_id") WHERE (code_id IS NOT NULL);
