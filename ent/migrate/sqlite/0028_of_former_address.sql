-- add column "of_former_address" to table: "guest_sessions"
ALTER TABLE `guest_sessions` ADD COLUMN `of_former_address` bool NOT NULL DEFAULT false;
