-- add column "proved_at" to table: "person_sessions"
ALTER TABLE `person_sessions` ADD COLUMN `proved_at` datetime NULL;
