-- add column "last_problem" to table: "endpoints"
ALTER TABLE `endpoints` ADD COLUMN `last_problem` json NULL;
-- add column "last_problem" to table: "webhooks"
ALTER TABLE `webhooks` ADD COLUMN `last_problem` json NULL;
