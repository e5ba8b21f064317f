-- the texts of a property by language, and its own retention
ALTER TABLE `check_in_settings` ADD COLUMN `texts` json NULL;
ALTER TABLE `check_in_settings` ADD COLUMN `keep_stay_days` integer NOT NULL DEFAULT 0;
ALTER TABLE `check_in_settings` ADD COLUMN `message_days` integer NOT NULL DEFAULT 0;
-- what mail servers answered, and what guests call their phones, are sealed from now on; the readable values are deleted
ALTER TABLE `mails` DROP COLUMN `answer`;
ALTER TABLE `mails` ADD COLUMN `reply` blob NULL;
ALTER TABLE `phones` DROP COLUMN `name`;
ALTER TABLE `phones` ADD COLUMN `label` blob NULL;
