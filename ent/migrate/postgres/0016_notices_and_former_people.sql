-- modify "memberships" table
ALTER TABLE "memberships" ADD COLUMN "notices_hidden" jsonb NULL, ADD COLUMN "notices_by_mail" jsonb NULL, ADD COLUMN "notices_from" character varying NULL, ADD COLUMN "notices_until" character varying NULL, ADD COLUMN "notices_mailed_to" character varying NULL;
-- create index "membership_notices_mailed_to" to table: "memberships"
CREATE INDEX "membership_notices_mailed_to" ON "memberships" ("notices_mailed_to");
-- create "former_people" table
CREATE TABLE "former_people" ("id" character varying NOT NULL, "person_id" character varying NOT NULL, "name" bytea NOT NULL, "created_at" timestamptz NOT NULL, "property_id" character varying NOT NULL, PRIMARY KEY ("id"), CONSTRAINT "former_people_properties_property" FOREIGN KEY ("property_id") REFERENCES "properties" ("id") ON UPDATE NO ACTION ON DELETE NO ACTION);
-- create index "formerperson_created_at" to table: "former_people"
CREATE INDEX "formerperson_created_at" ON "former_people" ("created_at");
-- create index "formerperson_property_id_person_id" to table: "former_people"
CREATE UNIQUE INDEX "formerperson_property_id_person_id" ON "former_people" ("property_id", "person_id");
