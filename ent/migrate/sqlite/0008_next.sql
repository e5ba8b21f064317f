-- disable the enforcement of foreign-keys constraints
PRAGMA foreign_keys = off;
-- create "new_phones" table
CREATE TABLE `new_phones` (`id` text NOT NULL, `property_id` text NOT NULL, `session` text NOT NULL DEFAULT (''), `name` text NOT NULL DEFAULT (''), `key` blob NOT NULL, `key_id` text NOT NULL, `subject` text NOT NULL, `challenge_at` integer NOT NULL DEFAULT (0), `token_expires_at` datetime NULL, `revoked_at` datetime NULL, `created_at` datetime NOT NULL, `reservation_id` text NOT NULL, PRIMARY KEY (`id`), CONSTRAINT `phones_reservations_reservation` FOREIGN KEY (`reservation_id`) REFERENCES `reservations` (`id`) ON DELETE NO ACTION);
-- copy rows from old table "phones" to new temporary table "new_phones"
INSERT INTO `new_phones` (`id`, `property_id`, `name`, `key`, `key_id`, `subject`, `challenge_at`, `token_expires_at`, `revoked_at`, `created_at`, `reservation_id`) SELECT `id`, `property_id`, `name`, `key`, `key_id`, `subject`, `challenge_at`, `token_expires_at`, `revoked_at`, `created_at`, `reservation_id` FROM `phones`;
-- drop "phones" table after copying rows
DROP TABLE `phones`;
-- rename temporary table "new_phones" to "phones"
ALTER TABLE `new_phones` RENAME TO `phones`;
-- create index "phone_reservation_id" to table: "phones"
CREATE INDEX `phone_reservation_id` ON `phones` (`reservation_id`);
-- create index "phone_property_id_key_id" to table: "phones"
CREATE INDEX `phone_property_id_key_id` ON `phones` (`property_id`, `key_id`);
-- create index "phone_session" to table: "phones"
CREATE INDEX `phone_session` ON `phones` (`session`);
-- create "new_phone_links" table
CREATE TABLE `new_phone_links` (`id` text NOT NULL, `property_id` text NOT NULL, `session` text NOT NULL DEFAULT (''), `mac` blob NOT NULL, `expires_at` datetime NOT NULL, `used_at` datetime NULL, `created_at` datetime NOT NULL, `reservation_id` text NOT NULL, PRIMARY KEY (`id`), CONSTRAINT `phone_links_reservations_reservation` FOREIGN KEY (`reservation_id`) REFERENCES `reservations` (`id`) ON DELETE CASCADE);
-- copy rows from old table "phone_links" to new temporary table "new_phone_links"
INSERT INTO `new_phone_links` (`id`, `property_id`, `mac`, `expires_at`, `used_at`, `created_at`, `reservation_id`) SELECT `id`, `property_id`, `mac`, `expires_at`, `used_at`, `created_at`, `reservation_id` FROM `phone_links`;
-- drop "phone_links" table after copying rows
DROP TABLE `phone_links`;
-- rename temporary table "new_phone_links" to "phone_links"
ALTER TABLE `new_phone_links` RENAME TO `phone_links`;
-- create index "phone_links_mac_key" to table: "phone_links"
CREATE UNIQUE INDEX `phone_links_mac_key` ON `phone_links` (`mac`);
-- create index "phonelink_reservation_id" to table: "phone_links"
CREATE INDEX `phonelink_reservation_id` ON `phone_links` (`reservation_id`);
-- create index "phonelink_expires_at" to table: "phone_links"
CREATE INDEX `phonelink_expires_at` ON `phone_links` (`expires_at`);
-- create "new_disclosures" table
CREATE TABLE `new_disclosures` (`id` text NOT NULL, `property_id` text NOT NULL, `reservation_id` text NOT NULL, `integration_id` text NOT NULL, `groups` json NOT NULL, `why` text NOT NULL, `call` text NOT NULL, `refused` text NOT NULL DEFAULT (''), `times` integer NOT NULL DEFAULT (1), `last_at` datetime NULL, `created_at` datetime NOT NULL, `guest_id` text NOT NULL, PRIMARY KEY (`id`), CONSTRAINT `disclosures_guests_guest` FOREIGN KEY (`guest_id`) REFERENCES `guests` (`id`) ON DELETE CASCADE);
-- copy rows from old table "disclosures" to new temporary table "new_disclosures"
INSERT INTO `new_disclosures` (`id`, `property_id`, `reservation_id`, `integration_id`, `groups`, `why`, `call`, `created_at`, `guest_id`) SELECT `id`, `property_id`, `reservation_id`, `integration_id`, `groups`, `why`, `call`, `created_at`, `guest_id` FROM `disclosures`;
-- drop "disclosures" table after copying rows
DROP TABLE `disclosures`;
-- rename temporary table "new_disclosures" to "disclosures"
ALTER TABLE `new_disclosures` RENAME TO `disclosures`;
-- create index "disclosure_property_id" to table: "disclosures"
CREATE INDEX `disclosure_property_id` ON `disclosures` (`property_id`);
-- create index "disclosure_guest_id" to table: "disclosures"
CREATE INDEX `disclosure_guest_id` ON `disclosures` (`guest_id`);
-- enable back the enforcement of foreign-keys constraints
PRAGMA foreign_keys = on;
