-- add column "extended_to" to table: "reservations"
ALTER TABLE `reservations` ADD COLUMN `extended_to` datetime NULL;
