-- modify "erasures" table
ALTER TABLE "erasures" ADD COLUMN "keep_profile" boolean NULL;
-- create "profile_links" table
CREATE TABLE "profile_links" ("id" character varying NOT NULL, "property_id" character varying NOT NULL, "mac" bytea NOT NULL, "session_mac" bytea NULL, "expires_at" timestamptz NOT NULL, "created_at" timestamptz NOT NULL, "profile_id" character varying NOT NULL, PRIMARY KEY ("id"), CONSTRAINT "profile_links_guest_profiles_profile" FOREIGN KEY ("profile_id") REFERENCES "guest_profiles" ("id") ON UPDATE NO ACTION ON DELETE CASCADE);
-- create index "profile_links_mac_key" to table: "profile_links"
CREATE UNIQUE INDEX "profile_links_mac_key" ON "profile_links" ("mac");
-- create index "profile_links_session_mac_key" to table: "profile_links"
CREATE UNIQUE INDEX "profile_links_session_mac_key" ON "profile_links" ("session_mac");
-- create index "profilelink_expires_at" to table: "profile_links"
CREATE INDEX "profilelink_expires_at" ON "profile_links" ("expires_at");
-- create index "profilelink_profile_id" to table: "profile_links"
CREATE INDEX "profilelink_profile_id" ON "profile_links" ("profile_id");
