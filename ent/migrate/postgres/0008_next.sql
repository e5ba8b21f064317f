-- modify "disclosures" table
ALTER TABLE "disclosures" ADD COLUMN "refused" character varying NOT NULL DEFAULT '', ADD COLUMN "times" bigint NOT NULL DEFAULT 1, ADD COLUMN "last_at" timestamptz NULL;
-- modify "phone_links" table
ALTER TABLE "phone_links" ADD COLUMN "session" character varying NOT NULL DEFAULT '';
-- modify "phones" table
ALTER TABLE "phones" ADD COLUMN "session" character varying NOT NULL DEFAULT '';
-- create index "phone_session" to table: "phones"
CREATE INDEX "phone_session" ON "phones" ("session");
