-- add column "parameters" to table: "notices"
ALTER TABLE `notices` ADD COLUMN `parameters` json NULL;
