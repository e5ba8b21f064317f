-- create index "act_grant_id" to table: "acts"
CREATE INDEX `act_grant_id` ON `acts` (`grant_id`) WHERE grant_id <> '';
-- add column "erased_at" to table: "reservations"
ALTER TABLE `reservations` ADD COLUMN `erased_at` datetime NULL;
-- create "tombstones" table
CREATE TABLE `tombstones` (`id` integer NOT NULL PRIMARY KEY AUTOINCREMENT, `mac` blob NOT NULL, `pms_updated_at` datetime NOT NULL, `created_at` datetime NOT NULL, `property_id` text NOT NULL, CONSTRAINT `tombstones_properties_property` FOREIGN KEY (`property_id`) REFERENCES `properties` (`id`) ON DELETE NO ACTION);
-- create index "tombstones_mac_key" to table: "tombstones"
CREATE UNIQUE INDEX `tombstones_mac_key` ON `tombstones` (`mac`);
-- create index "tombstone_property_id" to table: "tombstones"
CREATE INDEX `tombstone_property_id` ON `tombstones` (`property_id`);
-- create index "tombstone_created_at" to table: "tombstones"
CREATE INDEX `tombstone_created_at` ON `tombstones` (`created_at`);
