-- add column "used_at" to table: "memberships"
ALTER TABLE `memberships` ADD COLUMN `used_at` datetime NULL;
-- add column "round" to table: "person_invitations"
ALTER TABLE `person_invitations` ADD COLUMN `round` integer NOT NULL DEFAULT 0;
-- drop index "personinvitation_property_id" from table: "person_invitations"
DROP INDEX `personinvitation_property_id`;
-- create index "personinvitation_property_id_email_mac" to table: "person_invitations"
CREATE UNIQUE INDEX `personinvitation_property_id_email_mac` ON `person_invitations` (`property_id`, `email_mac`);
