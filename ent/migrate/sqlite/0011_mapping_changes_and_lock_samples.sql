-- create "lock_samples" table
CREATE TABLE `lock_samples` (`id` integer NOT NULL PRIMARY KEY AUTOINCREMENT, `property_id` text NOT NULL, `kind` text NOT NULL, `value` integer NOT NULL, `at` datetime NOT NULL, `lock_id` text NOT NULL, CONSTRAINT `lock_samples_locks_lock` FOREIGN KEY (`lock_id`) REFERENCES `locks` (`id`) ON DELETE CASCADE);
-- create index "locksample_lock_id_kind_id" to table: "lock_samples"
CREATE INDEX `locksample_lock_id_kind_id` ON `lock_samples` (`lock_id`, `kind`, `id`);
-- create index "locksample_at" to table: "lock_samples"
CREATE INDEX `locksample_at` ON `lock_samples` (`at`);
-- create "mapping_changes" table
CREATE TABLE `mapping_changes` (`id` text NOT NULL, `property_id` text NOT NULL, `kind` text NOT NULL, `author` text NOT NULL, `rows` json NOT NULL, `undoes` text NOT NULL DEFAULT (''), `undone_by` text NOT NULL DEFAULT (''), `created_at` datetime NOT NULL, `integration_id` text NOT NULL, PRIMARY KEY (`id`), CONSTRAINT `mapping_changes_integrations_integration` FOREIGN KEY (`integration_id`) REFERENCES `integrations` (`id`) ON DELETE CASCADE);
-- create index "mappingchange_integration_id_id" to table: "mapping_changes"
CREATE INDEX `mappingchange_integration_id_id` ON `mapping_changes` (`integration_id`, `id`);
-- create index "mappingchange_created_at" to table: "mapping_changes"
CREATE INDEX `mappingchange_created_at` ON `mapping_changes` (`created_at`);
