-- add column "parent_external_id" to table: "mappings"
ALTER TABLE `mappings` ADD COLUMN `parent_external_id` text NULL;
