-- add column "deleting_at" to table: "properties"
ALTER TABLE `properties` ADD COLUMN `deleting_at` datetime NULL;
