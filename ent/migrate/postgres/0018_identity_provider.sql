-- modify "people" table
ALTER TABLE "people" ADD COLUMN "address_confirmed_at" timestamptz NULL, ADD COLUMN "identity_mac" bytea NULL, ADD COLUMN "identity_issuer" character varying NULL;
-- create index "people_identity_mac_key" to table: "people"
CREATE UNIQUE INDEX "people_identity_mac_key" ON "people" ("identity_mac");
