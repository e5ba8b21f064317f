-- add column "notices_hidden" to table: "memberships"
ALTER TABLE `memberships` ADD COLUMN `notices_hidden` json NULL;
-- add column "notices_by_mail" to table: "memberships"
ALTER TABLE `memberships` ADD COLUMN `notices_by_mail` json NULL;
-- add column "notices_from" to table: "memberships"
ALTER TABLE `memberships` ADD COLUMN `notices_from` text NULL;
-- add column "notices_until" to table: "memberships"
ALTER TABLE `memberships` ADD COLUMN `notices_until` text NULL;
-- add column "notices_mailed_to" to table: "memberships"
ALTER TABLE `memberships` ADD COLUMN `notices_mailed_to` text NULL;
-- create index "membership_notices_mailed_to" to table: "memberships"
CREATE INDEX `membership_notices_mailed_to` ON `memberships` (`notices_mailed_to`);
-- create "former_people" table
CREATE TABLE `former_people` (`id` text NOT NULL, `person_id` text NOT NULL, `name` blob NOT NULL, `created_at` datetime NOT NULL, `property_id` text NOT NULL, PRIMARY KEY (`id`), CONSTRAINT `former_people_properties_property` FOREIGN KEY (`property_id`) REFERENCES `properties` (`id`) ON DELETE NO ACTION);
-- create index "formerperson_property_id_person_id" to table: "former_people"
CREATE UNIQUE INDEX `formerperson_property_id_person_id` ON `former_people` (`property_id`, `person_id`);
-- create index "formerperson_created_at" to table: "former_people"
CREATE INDEX `formerperson_created_at` ON `former_people` (`created_at`);
