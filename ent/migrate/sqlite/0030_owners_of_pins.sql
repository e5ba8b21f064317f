-- A PIN refers to its grant or to its code. A PIN without its owner opens nothing that the server knows.
DELETE FROM pins WHERE NOT EXISTS (SELECT 1 FROM grants AS o WHERE o.id = pins.grant_id) AND NOT EXISTS (SELECT 1 FROM codes AS o WHERE o.id = pins.grant_id);
-- create "new_pins" table
CREATE TABLE `new_pins` (`id` text NOT NULL, `property_id` text NOT NULL, `door_id` text NOT NULL DEFAULT (''), `mac` blob NOT NULL, `sealed` blob NOT NULL, `retired` bool NOT NULL DEFAULT (false), `created_at` datetime NOT NULL, `grant_id` text NULL, `code_id` text NULL, PRIMARY KEY (`id`), CONSTRAINT `pins_grants_grant` FOREIGN KEY (`grant_id`) REFERENCES `grants` (`id`) ON DELETE NO ACTION, CONSTRAINT `pins_codes_code` FOREIGN KEY (`code_id`) REFERENCES `codes` (`id`) ON DELETE NO ACTION, CONSTRAINT `pins_one_owner` CHECK ((grant_id IS NULL) <> (code_id IS NULL)));
-- copy rows from old table "pins" to new temporary table "new_pins"
INSERT INTO `new_pins` (`id`, `property_id`, `door_id`, `mac`, `sealed`, `retired`, `created_at`, `grant_id`, `code_id`) SELECT `id`, `property_id`, `door_id`, `mac`, `sealed`, `retired`, `created_at`, (SELECT o.id FROM grants AS o WHERE o.id = pins.grant_id), (SELECT o.id FROM codes AS o WHERE o.id = pins.grant_id) FROM `pins`;
-- drop "pins" table after copying rows
DROP TABLE `pins`;
-- rename temporary table "new_pins" to "pins"
ALTER TABLE `new_pins` RENAME TO `pins`;
-- create index "pin_property_id_mac" to table: "pins"
CREATE UNIQUE INDEX `pin_property_id_mac` ON `pins` (`property_id`, `mac`);
-- create index "pin_grant_id" to table: "pins"
CREATE INDEX `pin_grant_id` ON `pins` (`grant_id`);
-- create index "pin_code_id" to table: "pins"
CREATE INDEX `pin_code_id` ON `pins` (`code_id`) WHERE code_id IS NOT NULL;
