-- add column "guest_id" to table: "phones"
ALTER TABLE `phones` ADD COLUMN `guest_id` text NULL;
-- add column "guest_id" to table: "phone_links"
ALTER TABLE `phone_links` ADD COLUMN `guest_id` text NULL;
