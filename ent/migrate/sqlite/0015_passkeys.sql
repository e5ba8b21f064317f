-- create "passkeys" table
CREATE TABLE `passkeys` (`id` text NOT NULL, `mac` blob NOT NULL, `credential` blob NOT NULL, `name` text NOT NULL, `used_at` datetime NULL, `created_at` datetime NOT NULL, `person_id` text NOT NULL, PRIMARY KEY (`id`), CONSTRAINT `passkeys_people_person` FOREIGN KEY (`person_id`) REFERENCES `people` (`id`) ON DELETE CASCADE);
-- create index "passkeys_mac_key" to table: "passkeys"
CREATE UNIQUE INDEX `passkeys_mac_key` ON `passkeys` (`mac`);
-- create index "passkey_person_id" to table: "passkeys"
CREATE INDEX `passkey_person_id` ON `passkeys` (`person_id`);
-- create "used_challenges" table
CREATE TABLE `used_challenges` (`id` text NOT NULL, `ends_at` datetime NOT NULL, PRIMARY KEY (`id`));
-- create index "usedchallenge_ends_at" to table: "used_challenges"
CREATE INDEX `usedchallenge_ends_at` ON `used_challenges` (`ends_at`);
