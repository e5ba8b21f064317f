-- add column "address_confirmed_at" to table: "people"
ALTER TABLE `people` ADD COLUMN `address_confirmed_at` datetime NULL;
-- add column "identity_mac" to table: "people"
ALTER TABLE `people` ADD COLUMN `identity_mac` blob NULL;
-- add column "identity_issuer" to table: "people"
ALTER TABLE `people` ADD COLUMN `identity_issuer` text NULL;
-- create index "people_identity_mac_key" to table: "people"
CREATE UNIQUE INDEX `people_identity_mac_key` ON `people` (`identity_mac`);
