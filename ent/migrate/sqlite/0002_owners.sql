-- Rows without an owner. The new keys refuse to delete some owners while they have rows. Such an owner is inserted again, in a
-- state that ends access: a lock may hold a code of the row, or a phone a token. Other rows without an owner are deleted.
-- numbers of the status list whose phone or grant is missing: revoke
UPDATE key_statuses SET revoked_at = strftime('%Y-%m-%d %H:%M:%S+00:00', 'now')
	WHERE revoked_at IS NULL AND (NOT EXISTS (SELECT 1 FROM phones AS o WHERE o.id = phone_id) OR NOT EXISTS (SELECT 1 FROM grants AS o WHERE o.id = grant_id));
-- phones of such numbers
INSERT INTO phones (id, property_id, reservation_id, name, `key`, key_id, subject, revoked_at, created_at)
	SELECT k.phone_id, min(k.property_id), coalesce(min(g.reservation_id), 'rsv_' || substr(k.phone_id, 5)), 'Unknown phone', x'', '', '', strftime('%Y-%m-%d %H:%M:%S+00:00', 'now'), strftime('%Y-%m-%d %H:%M:%S+00:00', 'now')
	FROM key_statuses AS k LEFT JOIN grants AS g ON g.id = k.grant_id WHERE NOT EXISTS (SELECT 1 FROM phones AS o WHERE o.id = k.phone_id) GROUP BY k.phone_id;
-- grants of such numbers
INSERT INTO grants (id, property_id, reservation_id, placed_at, not_before, not_after, keyed, ended_at, end_reason, released_at, created_at)
	SELECT k.grant_id, min(k.property_id), min(p.reservation_id), strftime('%Y-%m-%d %H:%M:%S+00:00', 'now'), strftime('%Y-%m-%d %H:%M:%S+00:00', 'now'), strftime('%Y-%m-%d %H:%M:%S+00:00', 'now'), true, strftime('%Y-%m-%d %H:%M:%S+00:00', 'now'), 'reservationCanceled', strftime('%Y-%m-%d %H:%M:%S+00:00', 'now'), strftime('%Y-%m-%d %H:%M:%S+00:00', 'now')
	FROM key_statuses AS k JOIN phones AS p ON p.id = k.phone_id WHERE NOT EXISTS (SELECT 1 FROM grants AS o WHERE o.id = k.grant_id) GROUP BY k.grant_id;
-- reservations of grants and phones: canceled, to be planned at once
INSERT INTO reservations (id, property_id, integration_id, pms_id, pms_number, booker, state, from_at, to_at, created_at, updated_at, plan_due_at)
	SELECT c.reservation_id, min(c.property_id), coalesce((SELECT min(i.id) FROM integrations AS i WHERE i.property_id = min(c.property_id)), 'int_' || substr(c.reservation_id, 5)),
		c.reservation_id, c.reservation_id, x'', 'canceled', strftime('%Y-%m-%d %H:%M:%S+00:00', 'now'), strftime('%Y-%m-%d %H:%M:%S+00:00', 'now'), strftime('%Y-%m-%d %H:%M:%S+00:00', 'now'), strftime('%Y-%m-%d %H:%M:%S+00:00', 'now'), strftime('%Y-%m-%d %H:%M:%S+00:00', 'now')
	FROM (SELECT reservation_id, property_id FROM grants UNION SELECT reservation_id, property_id FROM phones) AS c
	WHERE NOT EXISTS (SELECT 1 FROM reservations AS o WHERE o.id = c.reservation_id) GROUP BY c.reservation_id;
-- integrations of reservations: disabled
INSERT INTO integrations (id, property_id, app_id, name, scopes, disabled_at, created_at)
	SELECT r.integration_id, min(r.property_id), 'app_' || substr(r.integration_id, 5), 'Unknown integration', '[]', strftime('%Y-%m-%d %H:%M:%S+00:00', 'now'), strftime('%Y-%m-%d %H:%M:%S+00:00', 'now')
	FROM reservations AS r WHERE NOT EXISTS (SELECT 1 FROM integrations AS o WHERE o.id = r.integration_id) GROUP BY r.integration_id;
-- apps of integrations
INSERT INTO apps (id, name, created_at)
	SELECT DISTINCT i.app_id, 'Unknown app ' || i.app_id, strftime('%Y-%m-%d %H:%M:%S+00:00', 'now') FROM integrations AS i WHERE i.app_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM apps AS o WHERE o.id = i.app_id);
-- locks of slots
INSERT INTO locks (id, property_id, name, bridge_id, address, capabilities, status, generation, created_at)
	SELECT s.lock_id, min(s.property_id), 'Unknown lock', 'brg_' || substr(s.lock_id, 5), s.lock_id, '{}', '{"online":false}', max(s.generation), strftime('%Y-%m-%d %H:%M:%S+00:00', 'now')
	FROM slots AS s WHERE NOT EXISTS (SELECT 1 FROM locks AS o WHERE o.id = s.lock_id) GROUP BY s.lock_id;
-- bridges of locks: never connected
INSERT INTO bridges (id, property_id, name, created_at)
	SELECT l.bridge_id, min(l.property_id), 'Unknown bridge', strftime('%Y-%m-%d %H:%M:%S+00:00', 'now') FROM locks AS l WHERE NOT EXISTS (SELECT 1 FROM bridges AS o WHERE o.id = l.bridge_id) GROUP BY l.bridge_id;
-- properties
INSERT INTO properties (id, name, time_zone, created_at)
	SELECT c.id, 'Unknown property', 'UTC', strftime('%Y-%m-%d %H:%M:%S+00:00', 'now') FROM (
		SELECT property_id AS id FROM bridges
		UNION SELECT property_id AS id FROM codes
		UNION SELECT property_id AS id FROM gates
		UNION SELECT property_id AS id FROM guesses
		UNION SELECT property_id AS id FROM integrations
		UNION SELECT id AS id FROM issuers
		UNION SELECT property_id AS id FROM notices
		UNION SELECT property_id AS id FROM spaces) AS c
	WHERE NOT EXISTS (SELECT 1 FROM properties AS o WHERE o.id = c.id);
DELETE FROM arrivals WHERE NOT EXISTS (SELECT 1 FROM reservations AS o WHERE o.id = arrivals.id);
DELETE FROM phone_links WHERE NOT EXISTS (SELECT 1 FROM reservations AS o WHERE o.id = phone_links.reservation_id);
DELETE FROM door_rules WHERE NOT EXISTS (SELECT 1 FROM locks AS o WHERE o.id = door_rules.id);
DELETE FROM endpoints WHERE NOT EXISTS (SELECT 1 FROM integrations AS o WHERE o.id = endpoints.integration_id);
DELETE FROM partner_spaces WHERE NOT EXISTS (SELECT 1 FROM integrations AS o WHERE o.id = partner_spaces.integration_id);
DELETE FROM conflicts WHERE NOT EXISTS (SELECT 1 FROM integrations AS o WHERE o.id = conflicts.integration_id);
DELETE FROM mappings WHERE NOT EXISTS (SELECT 1 FROM integrations AS o WHERE o.id = mappings.integration_id);
DELETE FROM mappings WHERE NOT EXISTS (SELECT 1 FROM spaces AS o WHERE o.id = mappings.space_id);
DELETE FROM key_sets WHERE NOT EXISTS (SELECT 1 FROM issuers AS o WHERE o.id = key_sets.property_id);
DELETE FROM issuer_keys WHERE NOT EXISTS (SELECT 1 FROM issuers AS o WHERE o.id = issuer_keys.property_id);

-- The keys.
-- create "new_arrivals" table
CREATE TABLE `new_arrivals` (`id` text NOT NULL, `property_id` text NOT NULL, `from_at` datetime NOT NULL, `minutes` integer NOT NULL, `verdict` text NOT NULL, `judged_at` datetime NOT NULL, `again_at` datetime NULL, PRIMARY KEY (`id`), CONSTRAINT `arrivals_reservations_id` FOREIGN KEY (`id`) REFERENCES `reservations` (`id`) ON DELETE CASCADE);
-- copy rows from old table "arrivals" to new temporary table "new_arrivals"
INSERT INTO `new_arrivals` (`id`, `property_id`, `from_at`, `minutes`, `verdict`, `judged_at`, `again_at`) SELECT `id`, `property_id`, `from_at`, `minutes`, `verdict`, `judged_at`, `again_at` FROM `arrivals`;
-- drop "arrivals" table after copying rows
DROP TABLE `arrivals`;
-- rename temporary table "new_arrivals" to "arrivals"
ALTER TABLE `new_arrivals` RENAME TO `arrivals`;
-- create index "arrival_property_id" to table: "arrivals"
CREATE INDEX `arrival_property_id` ON `arrivals` (`property_id`);
-- create index "arrival_again_at" to table: "arrivals"
CREATE INDEX `arrival_again_at` ON `arrivals` (`again_at`) WHERE again_at IS NOT NULL;
-- create "new_bridges" table
CREATE TABLE `new_bridges` (`id` text NOT NULL, `property_id` text NOT NULL, `name` text NOT NULL, `join_mac` blob NULL, `join_expires_at` datetime NULL, `enrolled_at` datetime NULL, `revoked_at` datetime NULL, `hpke_key` blob NULL, `certificate_key` blob NULL, `previous_key` blob NULL, `certificate_expires_at` datetime NULL, `epoch` integer NOT NULL DEFAULT (0), `boot_id` text NOT NULL DEFAULT (''), `software` text NOT NULL DEFAULT (''), `online` bool NOT NULL DEFAULT (false), `node` text NOT NULL DEFAULT (''), `offline_reason` text NOT NULL DEFAULT ('neverConnected'), `last_seen_at` datetime NULL, `clock_offset_ms` integer NOT NULL DEFAULT (0), `event_sequence` integer NOT NULL DEFAULT (0), `key_set_version` integer NULL, `key_list_number` integer NOT NULL DEFAULT (0), `link_at` datetime NULL, `unreached_at` datetime NULL, `reached_at` datetime NULL, `offline_told_at` datetime NULL, `created_at` datetime NOT NULL, PRIMARY KEY (`id`), CONSTRAINT `bridges_properties_property` FOREIGN KEY (`property_id`) REFERENCES `properties` (`id`) ON DELETE NO ACTION);
-- copy rows from old table "bridges" to new temporary table "new_bridges"
INSERT INTO `new_bridges` (`id`, `property_id`, `name`, `join_mac`, `join_expires_at`, `enrolled_at`, `revoked_at`, `hpke_key`, `certificate_key`, `previous_key`, `certificate_expires_at`, `epoch`, `boot_id`, `software`, `online`, `node`, `offline_reason`, `last_seen_at`, `clock_offset_ms`, `event_sequence`, `key_set_version`, `key_list_number`, `link_at`, `unreached_at`, `reached_at`, `offline_told_at`, `created_at`) SELECT `id`, `property_id`, `name`, `join_mac`, `join_expires_at`, `enrolled_at`, `revoked_at`, `hpke_key`, `certificate_key`, `previous_key`, `certificate_expires_at`, `epoch`, `boot_id`, `software`, `online`, `node`, `offline_reason`, `last_seen_at`, `clock_offset_ms`, `event_sequence`, `key_set_version`, `key_list_number`, `link_at`, `unreached_at`, `reached_at`, `offline_told_at`, `created_at` FROM `bridges`;
-- drop "bridges" table after copying rows
DROP TABLE `bridges`;
-- rename temporary table "new_bridges" to "bridges"
ALTER TABLE `new_bridges` RENAME TO `bridges`;
-- create index "bridges_join_mac_key" to table: "bridges"
CREATE UNIQUE INDEX `bridges_join_mac_key` ON `bridges` (`join_mac`);
-- create index "bridge_property_id_id" to table: "bridges"
CREATE INDEX `bridge_property_id_id` ON `bridges` (`property_id`, `id`);
-- create index "bridge_unreached_at" to table: "bridges"
CREATE INDEX `bridge_unreached_at` ON `bridges` (`unreached_at`) WHERE unreached_at IS NOT NULL;
-- create "new_codes" table
CREATE TABLE `new_codes` (`id` text NOT NULL, `property_id` text NOT NULL, `kind` text NOT NULL, `holder` text NOT NULL DEFAULT (''), `lock_id` text NOT NULL DEFAULT (''), `doors` json NOT NULL, `all_rooms` bool NOT NULL DEFAULT (false), `hours` json NOT NULL, `not_before` datetime NOT NULL, `not_after` datetime NULL, `redraws` integer NOT NULL DEFAULT (0), `used_at` datetime NULL, `revoked_at` datetime NULL, `end_reason` text NOT NULL DEFAULT (''), `ended_at` datetime NULL, `released_at` datetime NULL, `next_at` datetime NULL, `created_by` text NOT NULL DEFAULT (''), `read_at` datetime NULL, `read_by` text NOT NULL DEFAULT (''), `created_at` datetime NOT NULL, PRIMARY KEY (`id`), CONSTRAINT `codes_properties_property` FOREIGN KEY (`property_id`) REFERENCES `properties` (`id`) ON DELETE NO ACTION);
-- copy rows from old table "codes" to new temporary table "new_codes"
INSERT INTO `new_codes` (`id`, `property_id`, `kind`, `holder`, `lock_id`, `doors`, `all_rooms`, `hours`, `not_before`, `not_after`, `redraws`, `used_at`, `revoked_at`, `end_reason`, `ended_at`, `released_at`, `next_at`, `created_by`, `read_at`, `read_by`, `created_at`) SELECT `id`, `property_id`, `kind`, `holder`, `lock_id`, `doors`, `all_rooms`, `hours`, `not_before`, `not_after`, `redraws`, `used_at`, `revoked_at`, `end_reason`, `ended_at`, `released_at`, `next_at`, `created_by`, `read_at`, `read_by`, `created_at` FROM `codes`;
-- drop "codes" table after copying rows
DROP TABLE `codes`;
-- rename temporary table "new_codes" to "codes"
ALTER TABLE `new_codes` RENAME TO `codes`;
-- create index "code_property_id_ended_at" to table: "codes"
CREATE INDEX `code_property_id_ended_at` ON `codes` (`property_id`, `ended_at`);
-- create index "code_lock_id" to table: "codes"
CREATE INDEX `code_lock_id` ON `codes` (`lock_id`) WHERE lock_id <> '';
-- create index "code_next_at" to table: "codes"
CREATE INDEX `code_next_at` ON `codes` (`next_at`) WHERE next_at IS NOT NULL;
-- create "new_conflicts" table
CREATE TABLE `new_conflicts` (`id` text NOT NULL, `property_id` text NOT NULL, `integration_id` text NOT NULL, `kind` text NOT NULL, `external_id` text NOT NULL, `detail` text NOT NULL DEFAULT (''), `reservation_ids` json NOT NULL, `opened_at` datetime NOT NULL, `closed_at` datetime NULL, `open_key` text NULL, PRIMARY KEY (`id`), CONSTRAINT `conflicts_integrations_integration` FOREIGN KEY (`integration_id`) REFERENCES `integrations` (`id`) ON DELETE CASCADE);
-- copy rows from old table "conflicts" to new temporary table "new_conflicts"
INSERT INTO `new_conflicts` (`id`, `property_id`, `integration_id`, `kind`, `external_id`, `detail`, `reservation_ids`, `opened_at`, `closed_at`, `open_key`) SELECT `id`, `property_id`, `integration_id`, `kind`, `external_id`, `detail`, `reservation_ids`, `opened_at`, `closed_at`, `open_key` FROM `conflicts`;
-- drop "conflicts" table after copying rows
DROP TABLE `conflicts`;
-- rename temporary table "new_conflicts" to "conflicts"
ALTER TABLE `new_conflicts` RENAME TO `conflicts`;
-- create index "conflicts_open_key_key" to table: "conflicts"
CREATE UNIQUE INDEX `conflicts_open_key_key` ON `conflicts` (`open_key`);
-- create index "conflict_property_id_closed_at" to table: "conflicts"
CREATE INDEX `conflict_property_id_closed_at` ON `conflicts` (`property_id`, `closed_at`);
-- create index "conflict_integration_id_closed_at" to table: "conflicts"
CREATE INDEX `conflict_integration_id_closed_at` ON `conflicts` (`integration_id`, `closed_at`);
-- create "new_door_rules" table
CREATE TABLE `new_door_rules` (`id` text NOT NULL, `property_id` text NOT NULL, `floor` integer NOT NULL DEFAULT (0), `list_age_seconds` integer NOT NULL DEFAULT (0), `created_at` datetime NOT NULL, PRIMARY KEY (`id`), CONSTRAINT `door_rules_locks_id` FOREIGN KEY (`id`) REFERENCES `locks` (`id`) ON DELETE CASCADE);
-- copy rows from old table "door_rules" to new temporary table "new_door_rules"
INSERT INTO `new_door_rules` (`id`, `property_id`, `floor`, `list_age_seconds`, `created_at`) SELECT `id`, `property_id`, `floor`, `list_age_seconds`, `created_at` FROM `door_rules`;
-- drop "door_rules" table after copying rows
DROP TABLE `door_rules`;
-- rename temporary table "new_door_rules" to "door_rules"
ALTER TABLE `new_door_rules` RENAME TO `door_rules`;
-- create index "doorrule_property_id" to table: "door_rules"
CREATE INDEX `doorrule_property_id` ON `door_rules` (`property_id`);
-- create "new_endpoints" table
CREATE TABLE `new_endpoints` (`id` text NOT NULL, `property_id` text NOT NULL, `integration_id` text NOT NULL, `action` text NOT NULL, `url` text NOT NULL, `method` text NOT NULL, `sealed_token` blob NOT NULL, `token_place` text NOT NULL, `failures` integer NOT NULL DEFAULT (0), `last_success_at` datetime NULL, `last_failure_at` datetime NULL, `last_error` text NOT NULL DEFAULT (''), `created_at` datetime NOT NULL, PRIMARY KEY (`id`), CONSTRAINT `endpoints_integrations_integration` FOREIGN KEY (`integration_id`) REFERENCES `integrations` (`id`) ON DELETE CASCADE);
-- copy rows from old table "endpoints" to new temporary table "new_endpoints"
INSERT INTO `new_endpoints` (`id`, `property_id`, `integration_id`, `action`, `url`, `method`, `sealed_token`, `token_place`, `failures`, `last_success_at`, `last_failure_at`, `last_error`, `created_at`) SELECT `id`, `property_id`, `integration_id`, `action`, `url`, `method`, `sealed_token`, `token_place`, `failures`, `last_success_at`, `last_failure_at`, `last_error`, `created_at` FROM `endpoints`;
-- drop "endpoints" table after copying rows
DROP TABLE `endpoints`;
-- rename temporary table "new_endpoints" to "endpoints"
ALTER TABLE `new_endpoints` RENAME TO `endpoints`;
-- create index "endpoint_integration_id_action" to table: "endpoints"
CREATE UNIQUE INDEX `endpoint_integration_id_action` ON `endpoints` (`integration_id`, `action`);
-- create "new_gates" table
CREATE TABLE `new_gates` (`id` text NOT NULL, `property_id` text NOT NULL, `name` text NOT NULL, `floor` text NOT NULL DEFAULT (''), `space_ids` json NOT NULL, `created_at` datetime NOT NULL, PRIMARY KEY (`id`), CONSTRAINT `gates_properties_property` FOREIGN KEY (`property_id`) REFERENCES `properties` (`id`) ON DELETE NO ACTION);
-- copy rows from old table "gates" to new temporary table "new_gates"
INSERT INTO `new_gates` (`id`, `property_id`, `name`, `floor`, `space_ids`, `created_at`) SELECT `id`, `property_id`, `name`, `floor`, `space_ids`, `created_at` FROM `gates`;
-- drop "gates" table after copying rows
DROP TABLE `gates`;
-- rename temporary table "new_gates" to "gates"
ALTER TABLE `new_gates` RENAME TO `gates`;
-- create index "gate_property_id_name" to table: "gates"
CREATE INDEX `gate_property_id_name` ON `gates` (`property_id`, `name`);
-- create "new_grants" table
CREATE TABLE `new_grants` (`id` text NOT NULL, `property_id` text NOT NULL, `reservation_id` text NOT NULL, `space_id` text NOT NULL DEFAULT (''), `placed_at` datetime NOT NULL, `from_space_id` text NOT NULL DEFAULT (''), `not_before` datetime NOT NULL, `not_after` datetime NOT NULL, `pin_id` text NOT NULL DEFAULT (''), `redraws` integer NOT NULL DEFAULT (0), `key_generation` integer NOT NULL DEFAULT (1), `keyed` bool NOT NULL DEFAULT (false), `ended_at` datetime NULL, `end_reason` text NOT NULL DEFAULT (''), `open_key` text NULL, `released_at` datetime NULL, `created_at` datetime NOT NULL, PRIMARY KEY (`id`), CONSTRAINT `grants_reservations_reservation` FOREIGN KEY (`reservation_id`) REFERENCES `reservations` (`id`) ON DELETE NO ACTION);
-- copy rows from old table "grants" to new temporary table "new_grants"
INSERT INTO `new_grants` (`id`, `property_id`, `reservation_id`, `space_id`, `placed_at`, `from_space_id`, `not_before`, `not_after`, `pin_id`, `redraws`, `key_generation`, `keyed`, `ended_at`, `end_reason`, `open_key`, `released_at`, `created_at`) SELECT `id`, `property_id`, `reservation_id`, `space_id`, `placed_at`, `from_space_id`, `not_before`, `not_after`, `pin_id`, `redraws`, `key_generation`, `keyed`, `ended_at`, `end_reason`, `open_key`, `released_at`, `created_at` FROM `grants`;
-- drop "grants" table after copying rows
DROP TABLE `grants`;
-- rename temporary table "new_grants" to "grants"
ALTER TABLE `new_grants` RENAME TO `grants`;
-- create index "grants_open_key_key" to table: "grants"
CREATE UNIQUE INDEX `grants_open_key_key` ON `grants` (`open_key`);
-- create index "grant_reservation_id" to table: "grants"
CREATE INDEX `grant_reservation_id` ON `grants` (`reservation_id`);
-- create index "grant_property_id_ended_at" to table: "grants"
CREATE INDEX `grant_property_id_ended_at` ON `grants` (`property_id`, `ended_at`);
-- create index "grant_space_id_ended_at" to table: "grants"
CREATE INDEX `grant_space_id_ended_at` ON `grants` (`space_id`, `ended_at`);
-- create "new_guesses" table
CREATE TABLE `new_guesses` (`id` text NOT NULL, `property_id` text NOT NULL, `began_at` datetime NOT NULL, `count` integer NOT NULL DEFAULT (0), `before` integer NOT NULL DEFAULT (0), `alarmed_at` datetime NULL, PRIMARY KEY (`id`), CONSTRAINT `guesses_properties_property` FOREIGN KEY (`property_id`) REFERENCES `properties` (`id`) ON DELETE NO ACTION);
-- copy rows from old table "guesses" to new temporary table "new_guesses"
INSERT INTO `new_guesses` (`id`, `property_id`, `began_at`, `count`, `before`, `alarmed_at`) SELECT `id`, `property_id`, `began_at`, `count`, `before`, `alarmed_at` FROM `guesses`;
-- drop "guesses" table after copying rows
DROP TABLE `guesses`;
-- rename temporary table "new_guesses" to "guesses"
ALTER TABLE `new_guesses` RENAME TO `guesses`;
-- create index "guesses_property_id" to table: "guesses"
CREATE INDEX `guesses_property_id` ON `guesses` (`property_id`);
-- create "new_integrations" table
CREATE TABLE `new_integrations` (`id` text NOT NULL, `property_id` text NOT NULL, `app_id` text NULL, `name` text NOT NULL, `scopes` json NOT NULL, `signing_secret` blob NULL, `previous_signing_secret` blob NULL, `spaces_read_at` datetime NULL, `spaces_tried_at` datetime NULL, `spaces_failures` integer NOT NULL DEFAULT (0), `disabled_at` datetime NULL, `created_at` datetime NOT NULL, PRIMARY KEY (`id`), CONSTRAINT `integrations_properties_property` FOREIGN KEY (`property_id`) REFERENCES `properties` (`id`) ON DELETE NO ACTION, CONSTRAINT `integrations_apps_app` FOREIGN KEY (`app_id`) REFERENCES `apps` (`id`) ON DELETE NO ACTION);
-- copy rows from old table "integrations" to new temporary table "new_integrations"
INSERT INTO `new_integrations` (`id`, `property_id`, `app_id`, `name`, `scopes`, `signing_secret`, `previous_signing_secret`, `spaces_read_at`, `spaces_tried_at`, `spaces_failures`, `disabled_at`, `created_at`) SELECT `id`, `property_id`, `app_id`, `name`, `scopes`, `signing_secret`, `previous_signing_secret`, `spaces_read_at`, `spaces_tried_at`, `spaces_failures`, `disabled_at`, `created_at` FROM `integrations`;
-- drop "integrations" table after copying rows
DROP TABLE `integrations`;
-- rename temporary table "new_integrations" to "integrations"
ALTER TABLE `new_integrations` RENAME TO `integrations`;
-- create index "integration_property_id_app_id" to table: "integrations"
CREATE UNIQUE INDEX `integration_property_id_app_id` ON `integrations` (`property_id`, `app_id`);
-- create index "integration_app_id" to table: "integrations"
CREATE INDEX `integration_app_id` ON `integrations` (`app_id`);
-- create "new_issuers" table
CREATE TABLE `new_issuers` (`id` text NOT NULL, `generation` integer NOT NULL DEFAULT (1), `next_number` integer NOT NULL DEFAULT (0), `list_number` integer NOT NULL DEFAULT (0), `list` blob NULL, `list_key` text NOT NULL DEFAULT (''), `list_digest` blob NULL, `list_at` datetime NOT NULL, `key_set_version` integer NOT NULL DEFAULT (0), `key_set_at` datetime NOT NULL, `least_version` integer NOT NULL DEFAULT (0), `created_at` datetime NOT NULL, PRIMARY KEY (`id`), CONSTRAINT `issuers_properties_id` FOREIGN KEY (`id`) REFERENCES `properties` (`id`) ON DELETE NO ACTION);
-- copy rows from old table "issuers" to new temporary table "new_issuers"
INSERT INTO `new_issuers` (`id`, `generation`, `next_number`, `list_number`, `list`, `list_key`, `list_digest`, `list_at`, `key_set_version`, `key_set_at`, `least_version`, `created_at`) SELECT `id`, `generation`, `next_number`, `list_number`, `list`, `list_key`, `list_digest`, `list_at`, `key_set_version`, `key_set_at`, `least_version`, `created_at` FROM `issuers`;
-- drop "issuers" table after copying rows
DROP TABLE `issuers`;
-- rename temporary table "new_issuers" to "issuers"
ALTER TABLE `new_issuers` RENAME TO `issuers`;
-- create "new_issuer_keys" table
CREATE TABLE `new_issuer_keys` (`id` text NOT NULL, `property_id` text NOT NULL, `key_id` text NOT NULL, `sealed` blob NULL, `created_at` datetime NOT NULL, PRIMARY KEY (`id`), CONSTRAINT `issuer_keys_issuers_issuer` FOREIGN KEY (`property_id`) REFERENCES `issuers` (`id`) ON DELETE CASCADE);
-- copy rows from old table "issuer_keys" to new temporary table "new_issuer_keys"
INSERT INTO `new_issuer_keys` (`id`, `property_id`, `key_id`, `sealed`, `created_at`) SELECT `id`, `property_id`, `key_id`, `sealed`, `created_at` FROM `issuer_keys`;
-- drop "issuer_keys" table after copying rows
DROP TABLE `issuer_keys`;
-- rename temporary table "new_issuer_keys" to "issuer_keys"
ALTER TABLE `new_issuer_keys` RENAME TO `issuer_keys`;
-- create index "issuerkey_property_id_key_id" to table: "issuer_keys"
CREATE UNIQUE INDEX `issuerkey_property_id_key_id` ON `issuer_keys` (`property_id`, `key_id`);
-- create "new_key_sets" table
CREATE TABLE `new_key_sets` (`id` text NOT NULL, `property_id` text NOT NULL, `version` integer NOT NULL, `signed` blob NOT NULL, `created_at` datetime NOT NULL, PRIMARY KEY (`id`), CONSTRAINT `key_sets_issuers_issuer` FOREIGN KEY (`property_id`) REFERENCES `issuers` (`id`) ON DELETE CASCADE);
-- copy rows from old table "key_sets" to new temporary table "new_key_sets"
INSERT INTO `new_key_sets` (`id`, `property_id`, `version`, `signed`, `created_at`) SELECT `id`, `property_id`, `version`, `signed`, `created_at` FROM `key_sets`;
-- drop "key_sets" table after copying rows
DROP TABLE `key_sets`;
-- rename temporary table "new_key_sets" to "key_sets"
ALTER TABLE `new_key_sets` RENAME TO `key_sets`;
-- create index "keyset_property_id_version" to table: "key_sets"
CREATE UNIQUE INDEX `keyset_property_id_version` ON `key_sets` (`property_id`, `version`);
-- create "new_key_statuses" table
CREATE TABLE `new_key_statuses` (`id` text NOT NULL, `property_id` text NOT NULL, `number` integer NOT NULL, `phone_id` text NOT NULL, `grant_id` text NOT NULL, `key_generation` integer NOT NULL, `lock_ids` json NOT NULL, `since` datetime NOT NULL, `ends_at` datetime NOT NULL, `revoked_at` datetime NULL, `generation` integer NOT NULL DEFAULT (0), `key_set_version` integer NOT NULL DEFAULT (0), `list_number` integer NOT NULL DEFAULT (0), `revoked_list` integer NOT NULL DEFAULT (0), `checked_ids` json NULL, `opened_ids` json NULL, PRIMARY KEY (`id`), CONSTRAINT `key_statuses_phones_phone` FOREIGN KEY (`phone_id`) REFERENCES `phones` (`id`) ON DELETE NO ACTION, CONSTRAINT `key_statuses_grants_grant` FOREIGN KEY (`grant_id`) REFERENCES `grants` (`id`) ON DELETE NO ACTION);
-- copy rows from old table "key_statuses" to new temporary table "new_key_statuses"
INSERT INTO `new_key_statuses` (`id`, `property_id`, `number`, `phone_id`, `grant_id`, `key_generation`, `lock_ids`, `since`, `ends_at`, `revoked_at`, `generation`, `key_set_version`, `list_number`, `revoked_list`, `checked_ids`, `opened_ids`) SELECT `id`, `property_id`, `number`, `phone_id`, `grant_id`, `key_generation`, `lock_ids`, `since`, `ends_at`, `revoked_at`, `generation`, `key_set_version`, `list_number`, `revoked_list`, `checked_ids`, `opened_ids` FROM `key_statuses`;
-- drop "key_statuses" table after copying rows
DROP TABLE `key_statuses`;
-- rename temporary table "new_key_statuses" to "key_statuses"
ALTER TABLE `new_key_statuses` RENAME TO `key_statuses`;
-- create index "keystatus_property_id_number" to table: "key_statuses"
CREATE UNIQUE INDEX `keystatus_property_id_number` ON `key_statuses` (`property_id`, `number`);
-- create index "keystatus_phone_id" to table: "key_statuses"
CREATE INDEX `keystatus_phone_id` ON `key_statuses` (`phone_id`);
-- create index "keystatus_grant_id" to table: "key_statuses"
CREATE INDEX `keystatus_grant_id` ON `key_statuses` (`grant_id`);
-- create index "keystatus_ends_at" to table: "key_statuses"
CREATE INDEX `keystatus_ends_at` ON `key_statuses` (`ends_at`);
-- create "new_locks" table
CREATE TABLE `new_locks` (`id` text NOT NULL, `property_id` text NOT NULL, `name` text NOT NULL, `named` bool NOT NULL DEFAULT (false), `kind` text NOT NULL DEFAULT ('lock'), `bridge_id` text NOT NULL, `address` text NOT NULL, `model` text NOT NULL DEFAULT (''), `door_id` text NULL, `door_since` datetime NULL, `capabilities` json NOT NULL, `status` json NOT NULL, `generation` integer NOT NULL DEFAULT (0), `unreached_at` datetime NULL, `reached_at` datetime NULL, `offline_told_at` datetime NULL, `battery_told_at` datetime NULL, `clock_told_at` datetime NULL, `created_at` datetime NOT NULL, PRIMARY KEY (`id`), CONSTRAINT `locks_bridges_bridge` FOREIGN KEY (`bridge_id`) REFERENCES `bridges` (`id`) ON DELETE NO ACTION);
-- copy rows from old table "locks" to new temporary table "new_locks"
INSERT INTO `new_locks` (`id`, `property_id`, `name`, `named`, `kind`, `bridge_id`, `address`, `model`, `door_id`, `door_since`, `capabilities`, `status`, `generation`, `unreached_at`, `reached_at`, `offline_told_at`, `battery_told_at`, `clock_told_at`, `created_at`) SELECT `id`, `property_id`, `name`, `named`, `kind`, `bridge_id`, `address`, `model`, `door_id`, `door_since`, `capabilities`, `status`, `generation`, `unreached_at`, `reached_at`, `offline_told_at`, `battery_told_at`, `clock_told_at`, `created_at` FROM `locks`;
-- drop "locks" table after copying rows
DROP TABLE `locks`;
-- rename temporary table "new_locks" to "locks"
ALTER TABLE `new_locks` RENAME TO `locks`;
-- create index "locks_door_id_key" to table: "locks"
CREATE UNIQUE INDEX `locks_door_id_key` ON `locks` (`door_id`);
-- create index "lock_property_id_id" to table: "locks"
CREATE INDEX `lock_property_id_id` ON `locks` (`property_id`, `id`);
-- create index "lock_bridge_id_address" to table: "locks"
CREATE UNIQUE INDEX `lock_bridge_id_address` ON `locks` (`bridge_id`, `address`);
-- create index "lock_unreached_at" to table: "locks"
CREATE INDEX `lock_unreached_at` ON `locks` (`unreached_at`) WHERE unreached_at IS NOT NULL;
-- create index "lock_offline_told_at" to table: "locks"
CREATE INDEX `lock_offline_told_at` ON `locks` (`offline_told_at`) WHERE offline_told_at IS NOT NULL;
-- create "new_mappings" table
CREATE TABLE `new_mappings` (`id` integer NOT NULL PRIMARY KEY AUTOINCREMENT, `property_id` text NOT NULL, `integration_id` text NOT NULL, `external_id` text NOT NULL, `space_id` text NOT NULL, `name` text NOT NULL, `type` text NOT NULL, `created_at` datetime NOT NULL, CONSTRAINT `mappings_integrations_integration` FOREIGN KEY (`integration_id`) REFERENCES `integrations` (`id`) ON DELETE CASCADE, CONSTRAINT `mappings_spaces_space` FOREIGN KEY (`space_id`) REFERENCES `spaces` (`id`) ON DELETE NO ACTION);
-- copy rows from old table "mappings" to new temporary table "new_mappings"
INSERT INTO `new_mappings` (`id`, `property_id`, `integration_id`, `external_id`, `space_id`, `name`, `type`, `created_at`) SELECT `id`, `property_id`, `integration_id`, `external_id`, `space_id`, `name`, `type`, `created_at` FROM `mappings`;
-- drop "mappings" table after copying rows
DROP TABLE `mappings`;
-- rename temporary table "new_mappings" to "mappings"
ALTER TABLE `new_mappings` RENAME TO `mappings`;
-- create index "mapping_integration_id_external_id" to table: "mappings"
CREATE UNIQUE INDEX `mapping_integration_id_external_id` ON `mappings` (`integration_id`, `external_id`);
-- create index "mapping_integration_id_space_id" to table: "mappings"
CREATE UNIQUE INDEX `mapping_integration_id_space_id` ON `mappings` (`integration_id`, `space_id`);
-- create index "mapping_space_id" to table: "mappings"
CREATE INDEX `mapping_space_id` ON `mappings` (`space_id`);
-- create "new_notices" table
CREATE TABLE `new_notices` (`id` text NOT NULL, `property_id` text NOT NULL, `kind` text NOT NULL, `subject` text NOT NULL, `text` text NOT NULL, `once_key` text NULL, `read_at` datetime NULL, `created_at` datetime NOT NULL, PRIMARY KEY (`id`), CONSTRAINT `notices_properties_property` FOREIGN KEY (`property_id`) REFERENCES `properties` (`id`) ON DELETE NO ACTION);
-- copy rows from old table "notices" to new temporary table "new_notices"
INSERT INTO `new_notices` (`id`, `property_id`, `kind`, `subject`, `text`, `once_key`, `read_at`, `created_at`) SELECT `id`, `property_id`, `kind`, `subject`, `text`, `once_key`, `read_at`, `created_at` FROM `notices`;
-- drop "notices" table after copying rows
DROP TABLE `notices`;
-- rename temporary table "new_notices" to "notices"
ALTER TABLE `new_notices` RENAME TO `notices`;
-- create index "notices_once_key_key" to table: "notices"
CREATE UNIQUE INDEX `notices_once_key_key` ON `notices` (`once_key`);
-- create index "notice_property_id_created_at" to table: "notices"
CREATE INDEX `notice_property_id_created_at` ON `notices` (`property_id`, `created_at`);
-- create "new_partner_spaces" table
CREATE TABLE `new_partner_spaces` (`id` integer NOT NULL PRIMARY KEY AUTOINCREMENT, `property_id` text NOT NULL, `integration_id` text NOT NULL, `external_id` text NOT NULL, `type` text NOT NULL, `name` text NOT NULL, `parent_external_id` text NOT NULL DEFAULT (''), `floor` text NOT NULL DEFAULT (''), `is_private` bool NOT NULL, `is_active` bool NOT NULL, `gone_at` datetime NULL, `seen_at` datetime NOT NULL, CONSTRAINT `partner_spaces_integrations_integration` FOREIGN KEY (`integration_id`) REFERENCES `integrations` (`id`) ON DELETE CASCADE);
-- copy rows from old table "partner_spaces" to new temporary table "new_partner_spaces"
INSERT INTO `new_partner_spaces` (`id`, `property_id`, `integration_id`, `external_id`, `type`, `name`, `parent_external_id`, `floor`, `is_private`, `is_active`, `gone_at`, `seen_at`) SELECT `id`, `property_id`, `integration_id`, `external_id`, `type`, `name`, `parent_external_id`, `floor`, `is_private`, `is_active`, `gone_at`, `seen_at` FROM `partner_spaces`;
-- drop "partner_spaces" table after copying rows
DROP TABLE `partner_spaces`;
-- rename temporary table "new_partner_spaces" to "partner_spaces"
ALTER TABLE `new_partner_spaces` RENAME TO `partner_spaces`;
-- create index "partnerspace_integration_id_external_id" to table: "partner_spaces"
CREATE UNIQUE INDEX `partnerspace_integration_id_external_id` ON `partner_spaces` (`integration_id`, `external_id`);
-- create "new_phones" table
CREATE TABLE `new_phones` (`id` text NOT NULL, `property_id` text NOT NULL, `reservation_id` text NOT NULL, `name` text NOT NULL DEFAULT (''), `key` blob NOT NULL, `key_id` text NOT NULL, `subject` text NOT NULL, `challenge_at` integer NOT NULL DEFAULT (0), `token_expires_at` datetime NULL, `revoked_at` datetime NULL, `created_at` datetime NOT NULL, PRIMARY KEY (`id`), CONSTRAINT `phones_reservations_reservation` FOREIGN KEY (`reservation_id`) REFERENCES `reservations` (`id`) ON DELETE NO ACTION);
-- copy rows from old table "phones" to new temporary table "new_phones"
INSERT INTO `new_phones` (`id`, `property_id`, `reservation_id`, `name`, `key`, `key_id`, `subject`, `challenge_at`, `token_expires_at`, `revoked_at`, `created_at`) SELECT `id`, `property_id`, `reservation_id`, `name`, `key`, `key_id`, `subject`, `challenge_at`, `token_expires_at`, `revoked_at`, `created_at` FROM `phones`;
-- drop "phones" table after copying rows
DROP TABLE `phones`;
-- rename temporary table "new_phones" to "phones"
ALTER TABLE `new_phones` RENAME TO `phones`;
-- create index "phone_reservation_id" to table: "phones"
CREATE INDEX `phone_reservation_id` ON `phones` (`reservation_id`);
-- create index "phone_property_id_key_id" to table: "phones"
CREATE INDEX `phone_property_id_key_id` ON `phones` (`property_id`, `key_id`);
-- create "new_phone_links" table
CREATE TABLE `new_phone_links` (`id` text NOT NULL, `property_id` text NOT NULL, `reservation_id` text NOT NULL, `mac` blob NOT NULL, `expires_at` datetime NOT NULL, `used_at` datetime NULL, `created_at` datetime NOT NULL, PRIMARY KEY (`id`), CONSTRAINT `phone_links_reservations_reservation` FOREIGN KEY (`reservation_id`) REFERENCES `reservations` (`id`) ON DELETE CASCADE);
-- copy rows from old table "phone_links" to new temporary table "new_phone_links"
INSERT INTO `new_phone_links` (`id`, `property_id`, `reservation_id`, `mac`, `expires_at`, `used_at`, `created_at`) SELECT `id`, `property_id`, `reservation_id`, `mac`, `expires_at`, `used_at`, `created_at` FROM `phone_links`;
-- drop "phone_links" table after copying rows
DROP TABLE `phone_links`;
-- rename temporary table "new_phone_links" to "phone_links"
ALTER TABLE `new_phone_links` RENAME TO `phone_links`;
-- create index "phone_links_mac_key" to table: "phone_links"
CREATE UNIQUE INDEX `phone_links_mac_key` ON `phone_links` (`mac`);
-- create index "phonelink_reservation_id" to table: "phone_links"
CREATE INDEX `phonelink_reservation_id` ON `phone_links` (`reservation_id`);
-- create index "phonelink_expires_at" to table: "phone_links"
CREATE INDEX `phonelink_expires_at` ON `phone_links` (`expires_at`);
-- create "new_reservations" table
CREATE TABLE `new_reservations` (`id` text NOT NULL, `property_id` text NOT NULL, `integration_id` text NOT NULL, `pms_id` text NOT NULL, `pms_group_id` text NULL, `pms_space_id` text NULL, `pms_parent_space_id` text NULL, `pms_companion_ids` json NULL, `pms_updated_at` datetime NULL, `pms_number` text NOT NULL, `booker` blob NOT NULL, `state` text NOT NULL, `from_date` text NULL, `to_date` text NULL, `from_at` datetime NOT NULL, `to_at` datetime NOT NULL, `adult_count` integer NULL, `child_count` integer NULL, `price_minor` integer NULL, `owing_minor` integer NULL, `owing_currency` text NULL, `source_name` text NULL, `channel_manager` text NULL, `channel_number` text NULL, `own_space_id` text NULL, `space_key` text NOT NULL DEFAULT (''), `created_at` datetime NOT NULL, `updated_at` datetime NOT NULL, `plan_due_at` datetime NULL, PRIMARY KEY (`id`), CONSTRAINT `reservations_integrations_integration` FOREIGN KEY (`integration_id`) REFERENCES `integrations` (`id`) ON DELETE NO ACTION);
-- copy rows from old table "reservations" to new temporary table "new_reservations"
INSERT INTO `new_reservations` (`id`, `property_id`, `integration_id`, `pms_id`, `pms_group_id`, `pms_space_id`, `pms_parent_space_id`, `pms_companion_ids`, `pms_updated_at`, `pms_number`, `booker`, `state`, `from_date`, `to_date`, `from_at`, `to_at`, `adult_count`, `child_count`, `price_minor`, `owing_minor`, `owing_currency`, `source_name`, `channel_manager`, `channel_number`, `own_space_id`, `space_key`, `created_at`, `updated_at`, `plan_due_at`) SELECT `id`, `property_id`, `integration_id`, `pms_id`, `pms_group_id`, `pms_space_id`, `pms_parent_space_id`, `pms_companion_ids`, `pms_updated_at`, `pms_number`, `booker`, `state`, `from_date`, `to_date`, `from_at`, `to_at`, `adult_count`, `child_count`, `price_minor`, `owing_minor`, `owing_currency`, `source_name`, `channel_manager`, `channel_number`, `own_space_id`, `space_key`, `created_at`, `updated_at`, `plan_due_at` FROM `reservations`;
-- drop "reservations" table after copying rows
DROP TABLE `reservations`;
-- rename temporary table "new_reservations" to "reservations"
ALTER TABLE `new_reservations` RENAME TO `reservations`;
-- create index "reservation_integration_id_pms_id" to table: "reservations"
CREATE UNIQUE INDEX `reservation_integration_id_pms_id` ON `reservations` (`integration_id`, `pms_id`);
-- create index "reservation_from_at_property_id" to table: "reservations"
CREATE INDEX `reservation_from_at_property_id` ON `reservations` (`from_at`, `property_id`);
-- create index "reservation_property_id_pms_number" to table: "reservations"
CREATE INDEX `reservation_property_id_pms_number` ON `reservations` (`property_id`, `pms_number`);
-- create index "reservation_plan_due_at" to table: "reservations"
CREATE INDEX `reservation_plan_due_at` ON `reservations` (`plan_due_at`) WHERE plan_due_at IS NOT NULL;
-- create index "reservation_property_id_state" to table: "reservations"
CREATE INDEX `reservation_property_id_state` ON `reservations` (`property_id`, `state`) WHERE state = 'started';
-- create "new_slots" table
CREATE TABLE `new_slots` (`id` text NOT NULL, `property_id` text NOT NULL, `lock_id` text NOT NULL, `number` integer NOT NULL, `generation` integer NOT NULL, `present` bool NOT NULL, `grant_id` text NOT NULL DEFAULT (''), `since` integer NOT NULL DEFAULT (0), `pin_id` text NOT NULL DEFAULT (''), `door_id` text NOT NULL DEFAULT (''), `stay_space_id` text NOT NULL DEFAULT (''), `pin` blob NULL, `not_before` datetime NULL, `not_after` datetime NULL, `later` json NULL, `once` text NOT NULL DEFAULT (''), `claimant` text NOT NULL DEFAULT (''), `inherited` bool NOT NULL DEFAULT (false), `former` bool NOT NULL DEFAULT (false), `foreign` bool NOT NULL DEFAULT (false), `evidence` text NOT NULL, `result` text NOT NULL DEFAULT (''), `rule` text NOT NULL DEFAULT (''), `seen_generation` integer NOT NULL DEFAULT (0), `seen_present` bool NOT NULL DEFAULT (false), `seen_evidence` text NOT NULL DEFAULT (''), `seen_result` text NOT NULL DEFAULT (''), `seen_window` integer NOT NULL DEFAULT (0), `seen_used` bool NOT NULL DEFAULT (false), `seen_cleared` bool NOT NULL DEFAULT (false), `seen_at` datetime NULL, `used_at` datetime NULL, `changed_at` datetime NOT NULL, PRIMARY KEY (`id`), CONSTRAINT `slots_locks_lock` FOREIGN KEY (`lock_id`) REFERENCES `locks` (`id`) ON DELETE NO ACTION);
-- copy rows from old table "slots" to new temporary table "new_slots"
INSERT INTO `new_slots` (`id`, `property_id`, `lock_id`, `number`, `generation`, `present`, `grant_id`, `since`, `pin_id`, `door_id`, `stay_space_id`, `pin`, `not_before`, `not_after`, `later`, `once`, `claimant`, `inherited`, `former`, `foreign`, `evidence`, `result`, `rule`, `seen_generation`, `seen_present`, `seen_evidence`, `seen_result`, `seen_window`, `seen_used`, `seen_cleared`, `seen_at`, `used_at`, `changed_at`) SELECT `id`, `property_id`, `lock_id`, `number`, `generation`, `present`, `grant_id`, `since`, `pin_id`, `door_id`, `stay_space_id`, `pin`, `not_before`, `not_after`, `later`, `once`, `claimant`, `inherited`, `former`, `foreign`, `evidence`, `result`, `rule`, `seen_generation`, `seen_present`, `seen_evidence`, `seen_result`, `seen_window`, `seen_used`, `seen_cleared`, `seen_at`, `used_at`, `changed_at` FROM `slots`;
-- drop "slots" table after copying rows
DROP TABLE `slots`;
-- rename temporary table "new_slots" to "slots"
ALTER TABLE `new_slots` RENAME TO `slots`;
-- create index "slot_lock_id_number" to table: "slots"
CREATE UNIQUE INDEX `slot_lock_id_number` ON `slots` (`lock_id`, `number`);
-- create index "slot_grant_id" to table: "slots"
CREATE INDEX `slot_grant_id` ON `slots` (`grant_id`);
-- create index "slot_property_id" to table: "slots"
CREATE INDEX `slot_property_id` ON `slots` (`property_id`);
-- create "new_spaces" table
CREATE TABLE `new_spaces` (`id` text NOT NULL, `property_id` text NOT NULL, `type` text NOT NULL, `name` text NOT NULL, `floor` text NOT NULL DEFAULT (''), `parent_id` text NOT NULL DEFAULT (''), `is_private` bool NOT NULL, `is_active` bool NOT NULL DEFAULT (true), `created_at` datetime NOT NULL, PRIMARY KEY (`id`), CONSTRAINT `spaces_properties_property` FOREIGN KEY (`property_id`) REFERENCES `properties` (`id`) ON DELETE NO ACTION);
-- copy rows from old table "spaces" to new temporary table "new_spaces"
INSERT INTO `new_spaces` (`id`, `property_id`, `type`, `name`, `floor`, `parent_id`, `is_private`, `is_active`, `created_at`) SELECT `id`, `property_id`, `type`, `name`, `floor`, `parent_id`, `is_private`, `is_active`, `created_at` FROM `spaces`;
-- drop "spaces" table after copying rows
DROP TABLE `spaces`;
-- rename temporary table "new_spaces" to "spaces"
ALTER TABLE `new_spaces` RENAME TO `spaces`;
-- create index "space_property_id_name" to table: "spaces"
CREATE INDEX `space_property_id_name` ON `spaces` (`property_id`, `name`);
-- create index "space_property_id_parent_id" to table: "spaces"
CREATE INDEX `space_property_id_parent_id` ON `spaces` (`property_id`, `parent_id`);
