-- add column "keep_profile" to table: "erasures"
ALTER TABLE `erasures` ADD COLUMN `keep_profile` bool NULL;
-- create "profile_links" table
CREATE TABLE `profile_links` (`id` text NOT NULL, `property_id` text NOT NULL, `mac` blob NOT NULL, `session_mac` blob NULL, `expires_at` datetime NOT NULL, `created_at` datetime NOT NULL, `profile_id` text NOT NULL, PRIMARY KEY (`id`), CONSTRAINT `profile_links_guest_profiles_profile` FOREIGN KEY (`profile_id`) REFERENCES `guest_profiles` (`id`) ON DELETE CASCADE);
-- create index "profile_links_mac_key" to table: "profile_links"
CREATE UNIQUE INDEX `profile_links_mac_key` ON `profile_links` (`mac`);
-- create index "profile_links_session_mac_key" to table: "profile_links"
CREATE UNIQUE INDEX `profile_links_session_mac_key` ON `profile_links` (`session_mac`);
-- create index "profilelink_profile_id" to table: "profile_links"
CREATE INDEX `profilelink_profile_id` ON `profile_links` (`profile_id`);
-- create index "profilelink_expires_at" to table: "profile_links"
CREATE INDEX `profilelink_expires_at` ON `profile_links` (`expires_at`);
