-- Tokens without a property, an integration or an app have NULL there. A token whose owner is missing gives access to nothing.
DELETE FROM tokens WHERE property_id <> '' AND NOT EXISTS (SELECT 1 FROM properties AS o WHERE o.id = tokens.property_id);
DELETE FROM tokens WHERE integration_id <> '' AND NOT EXISTS (SELECT 1 FROM integrations AS o WHERE o.id = tokens.integration_id);
DELETE FROM tokens WHERE app_id <> '' AND NOT EXISTS (SELECT 1 FROM apps AS o WHERE o.id = tokens.app_id);
-- create "new_tokens" table
CREATE TABLE `new_tokens` (`id` text NOT NULL, `kind` text NOT NULL, `mac` blob NOT NULL, `hint` text NOT NULL, `name` text NOT NULL DEFAULT (''), `property_id` text NULL, `integration_id` text NULL, `app_id` text NULL, `role` text NOT NULL DEFAULT (''), `expires_at` datetime NULL, `revoked_at` datetime NULL, `created_at` datetime NOT NULL, PRIMARY KEY (`id`), CONSTRAINT `tokens_properties_property` FOREIGN KEY (`property_id`) REFERENCES `properties` (`id`) ON DELETE CASCADE, CONSTRAINT `tokens_integrations_integration` FOREIGN KEY (`integration_id`) REFERENCES `integrations` (`id`) ON DELETE CASCADE, CONSTRAINT `tokens_apps_app` FOREIGN KEY (`app_id`) REFERENCES `apps` (`id`) ON DELETE CASCADE);
-- copy rows from old table "tokens" to new temporary table "new_tokens"
INSERT INTO `new_tokens` (`id`, `kind`, `mac`, `hint`, `name`, `role`, `expires_at`, `revoked_at`, `created_at`, `property_id`, `integration_id`, `app_id`) SELECT `id`, `kind`, `mac`, `hint`, `name`, `role`, `expires_at`, `revoked_at`, `created_at`, nullif(`property_id`, ''), nullif(`integration_id`, ''), nullif(`app_id`, '') FROM `tokens`;
-- drop "tokens" table after copying rows
DROP TABLE `tokens`;
-- rename temporary table "new_tokens" to "tokens"
ALTER TABLE `new_tokens` RENAME TO `tokens`;
-- create index "tokens_mac_key" to table: "tokens"
CREATE UNIQUE INDEX `tokens_mac_key` ON `tokens` (`mac`);
-- create index "token_property_id_kind" to table: "tokens"
CREATE INDEX `token_property_id_kind` ON `tokens` (`property_id`, `kind`);
-- create index "token_integration_id_kind" to table: "tokens"
CREATE INDEX `token_integration_id_kind` ON `tokens` (`integration_id`, `kind`);
-- create index "token_app_id_kind" to table: "tokens"
CREATE INDEX `token_app_id_kind` ON `tokens` (`app_id`, `kind`);
