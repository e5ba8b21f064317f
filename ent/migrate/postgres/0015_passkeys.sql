-- create "used_challenges" table
CREATE TABLE "used_challenges" ("id" character varying NOT NULL, "ends_at" timestamptz NOT NULL, PRIMARY KEY ("id"));
-- create index "usedchallenge_ends_at" to table: "used_challenges"
CREATE INDEX "usedchallenge_ends_at" ON "used_challenges" ("ends_at");
-- create "passkeys" table
CREATE TABLE "passkeys" ("id" character varying NOT NULL, "mac" bytea NOT NULL, "credential" bytea NOT NULL, "name" character varying NOT NULL, "used_at" timestamptz NULL, "created_at" timestamptz NOT NULL, "person_id" character varying NOT NULL, PRIMARY KEY ("id"), CONSTRAINT "passkeys_people_person" FOREIGN KEY ("person_id") REFERENCES "people" ("id") ON UPDATE NO ACTION ON DELETE CASCADE);
-- create index "passkey_person_id" to table: "passkeys"
CREATE INDEX "passkey_person_id" ON "passkeys" ("person_id");
-- create index "passkeys_mac_key" to table: "passkeys"
CREATE UNIQUE INDEX "passkeys_mac_key" ON "passkeys" ("mac");
