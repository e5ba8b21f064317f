-- modify "memberships" table
ALTER TABLE "memberships" ADD COLUMN "used_at" timestamptz NULL;
-- drop index "personinvitation_property_id" from table: "person_invitations"
DROP INDEX "personinvitation_property_id";
-- modify "person_invitations" table
ALTER TABLE "person_invitations" ADD COLUMN "round" bigint NOT NULL DEFAULT 0;
-- create index "personinvitation_property_id_email_mac" to table: "person_invitations"
CREATE UNIQUE INDEX "personinvitation_property_id_email_mac" ON "person_invitations" ("property_id", "email_mac");
