-- add column "access_step_up" to table: "properties"
ALTER TABLE `properties` ADD COLUMN `access_step_up` bool NOT NULL DEFAULT true;
