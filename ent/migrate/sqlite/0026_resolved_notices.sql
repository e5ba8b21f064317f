-- add column "resolved_at" to table: "notices"
ALTER TABLE `notices` ADD COLUMN `resolved_at` datetime NULL;
