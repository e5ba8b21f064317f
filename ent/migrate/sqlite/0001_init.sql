-- create "acts" table
CREATE TABLE `acts` (`id` text NOT NULL, `property_id` text NOT NULL, `lock_id` text NOT NULL, `operation` text NOT NULL, `actor` text NOT NULL, `grant_id` text NOT NULL DEFAULT (''), `state` text NOT NULL, `result` text NOT NULL DEFAULT (''), `deadline` datetime NOT NULL, `finished_at` datetime NULL, `created_at` datetime NOT NULL, PRIMARY KEY (`id`));
-- create index "act_property_id_created_at" to table: "acts"
CREATE INDEX `act_property_id_created_at` ON `acts` (`property_id`, `created_at`);
-- create index "act_lock_id_created_at" to table: "acts"
CREATE INDEX `act_lock_id_created_at` ON `acts` (`lock_id`, `created_at`);
-- create index "act_state_deadline" to table: "acts"
CREATE INDEX `act_state_deadline` ON `acts` (`state`, `deadline`);
-- create "apps" table
CREATE TABLE `apps` (`id` text NOT NULL, `name` text NOT NULL, `created_at` datetime NOT NULL, PRIMARY KEY (`id`));
-- create index "apps_name_key" to table: "apps"
CREATE UNIQUE INDEX `apps_name_key` ON `apps` (`name`);
-- create "arrivals" table
CREATE TABLE `arrivals` (`id` text NOT NULL, `property_id` text NOT NULL, `from_at` datetime NOT NULL, `minutes` integer NOT NULL, `verdict` text NOT NULL, `judged_at` datetime NOT NULL, `again_at` datetime NULL, PRIMARY KEY (`id`));
-- create index "arrival_property_id" to table: "arrivals"
CREATE INDEX `arrival_property_id` ON `arrivals` (`property_id`);
-- create index "arrival_again_at" to table: "arrivals"
CREATE INDEX `arrival_again_at` ON `arrivals` (`again_at`) WHERE again_at IS NOT NULL;
-- create "bridges" table
CREATE TABLE `bridges` (`id` text NOT NULL, `property_id` text NOT NULL, `name` text NOT NULL, `join_mac` blob NULL, `join_expires_at` datetime NULL, `enrolled_at` datetime NULL, `revoked_at` datetime NULL, `hpke_key` blob NULL, `certificate_key` blob NULL, `previous_key` blob NULL, `certificate_expires_at` datetime NULL, `epoch` integer NOT NULL DEFAULT (0), `boot_id` text NOT NULL DEFAULT (''), `software` text NOT NULL DEFAULT (''), `online` bool NOT NULL DEFAULT (false), `node` text NOT NULL DEFAULT (''), `offline_reason` text NOT NULL DEFAULT ('neverConnected'), `last_seen_at` datetime NULL, `clock_offset_ms` integer NOT NULL DEFAULT (0), `event_sequence` integer NOT NULL DEFAULT (0), `key_set_version` integer NULL, `key_list_number` integer NOT NULL DEFAULT (0), `link_at` datetime NULL, `unreached_at` datetime NULL, `reached_at` datetime NULL, `offline_told_at` datetime NULL, `created_at` datetime NOT NULL, PRIMARY KEY (`id`));
-- create index "bridges_join_mac_key" to table: "bridges"
CREATE UNIQUE INDEX `bridges_join_mac_key` ON `bridges` (`join_mac`);
-- create index "bridge_property_id_id" to table: "bridges"
CREATE INDEX `bridge_property_id_id` ON `bridges` (`property_id`, `id`);
-- create index "bridge_unreached_at" to table: "bridges"
CREATE INDEX `bridge_unreached_at` ON `bridges` (`unreached_at`) WHERE unreached_at IS NOT NULL;
-- create "codes" table
CREATE TABLE `codes` (`id` text NOT NULL, `property_id` text NOT NULL, `kind` text NOT NULL, `holder` text NOT NULL DEFAULT (''), `lock_id` text NOT NULL DEFAULT (''), `doors` json NOT NULL, `all_rooms` bool NOT NULL DEFAULT (false), `hours` json NOT NULL, `not_before` datetime NOT NULL, `not_after` datetime NULL, `redraws` integer NOT NULL DEFAULT (0), `used_at` datetime NULL, `revoked_at` datetime NULL, `end_reason` text NOT NULL DEFAULT (''), `ended_at` datetime NULL, `released_at` datetime NULL, `next_at` datetime NULL, `created_by` text NOT NULL DEFAULT (''), `read_at` datetime NULL, `read_by` text NOT NULL DEFAULT (''), `created_at` datetime NOT NULL, PRIMARY KEY (`id`));
-- create index "code_property_id_ended_at" to table: "codes"
CREATE INDEX `code_property_id_ended_at` ON `codes` (`property_id`, `ended_at`);
-- create index "code_lock_id" to table: "codes"
CREATE INDEX `code_lock_id` ON `codes` (`lock_id`) WHERE lock_id <> '';
-- create index "code_next_at" to table: "codes"
CREATE INDEX `code_next_at` ON `codes` (`next_at`) WHERE next_at IS NOT NULL;
-- create "conflicts" table
CREATE TABLE `conflicts` (`id` text NOT NULL, `property_id` text NOT NULL, `integration_id` text NOT NULL, `kind` text NOT NULL, `external_id` text NOT NULL, `detail` text NOT NULL DEFAULT (''), `reservation_ids` json NOT NULL, `opened_at` datetime NOT NULL, `closed_at` datetime NULL, `open_key` text NULL, PRIMARY KEY (`id`));
-- create index "conflicts_open_key_key" to table: "conflicts"
CREATE UNIQUE INDEX `conflicts_open_key_key` ON `conflicts` (`open_key`);
-- create index "conflict_property_id_closed_at" to table: "conflicts"
CREATE INDEX `conflict_property_id_closed_at` ON `conflicts` (`property_id`, `closed_at`);
-- create index "conflict_integration_id_closed_at" to table: "conflicts"
CREATE INDEX `conflict_integration_id_closed_at` ON `conflicts` (`integration_id`, `closed_at`);
-- create "door_rules" table
CREATE TABLE `door_rules` (`id` text NOT NULL, `property_id` text NOT NULL, `floor` integer NOT NULL DEFAULT (0), `list_age_seconds` integer NOT NULL DEFAULT (0), `created_at` datetime NOT NULL, PRIMARY KEY (`id`));
-- create index "doorrule_property_id" to table: "door_rules"
CREATE INDEX `doorrule_property_id` ON `door_rules` (`property_id`);
-- create "endpoints" table
CREATE TABLE `endpoints` (`id` text NOT NULL, `property_id` text NOT NULL, `integration_id` text NOT NULL, `action` text NOT NULL, `url` text NOT NULL, `method` text NOT NULL, `sealed_token` blob NOT NULL, `token_place` text NOT NULL, `failures` integer NOT NULL DEFAULT (0), `last_success_at` datetime NULL, `last_failure_at` datetime NULL, `last_error` text NOT NULL DEFAULT (''), `created_at` datetime NOT NULL, PRIMARY KEY (`id`));
-- create index "endpoint_integration_id_action" to table: "endpoints"
CREATE UNIQUE INDEX `endpoint_integration_id_action` ON `endpoints` (`integration_id`, `action`);
-- create "events" table
CREATE TABLE `events` (`id` integer NOT NULL PRIMARY KEY AUTOINCREMENT, `property_id` text NOT NULL, `subject` text NOT NULL, `subject_sequence` integer NOT NULL, `kind` text NOT NULL, `body` json NOT NULL, `grant_id` text NULL, `occurred_at` datetime NOT NULL, `dispatched_at` datetime NULL, `created_at` datetime NOT NULL);
-- create index "event_subject_subject_sequence" to table: "events"
CREATE UNIQUE INDEX `event_subject_subject_sequence` ON `events` (`subject`, `subject_sequence`);
-- create index "event_property_id_id" to table: "events"
CREATE INDEX `event_property_id_id` ON `events` (`property_id`, `id`);
-- create index "event_id" to table: "events"
CREATE INDEX `event_id` ON `events` (`id`) WHERE dispatched_at IS NULL;
-- create index "event_grant_id_id" to table: "events"
CREATE INDEX `event_grant_id_id` ON `events` (`grant_id`, `id`) WHERE grant_id IS NOT NULL;
-- create "gates" table
CREATE TABLE `gates` (`id` text NOT NULL, `property_id` text NOT NULL, `name` text NOT NULL, `floor` text NOT NULL DEFAULT (''), `space_ids` json NOT NULL, `created_at` datetime NOT NULL, PRIMARY KEY (`id`));
-- create index "gate_property_id_name" to table: "gates"
CREATE INDEX `gate_property_id_name` ON `gates` (`property_id`, `name`);
-- create "grants" table
CREATE TABLE `grants` (`id` text NOT NULL, `property_id` text NOT NULL, `reservation_id` text NOT NULL, `space_id` text NOT NULL DEFAULT (''), `placed_at` datetime NOT NULL, `from_space_id` text NOT NULL DEFAULT (''), `not_before` datetime NOT NULL, `not_after` datetime NOT NULL, `pin_id` text NOT NULL DEFAULT (''), `redraws` integer NOT NULL DEFAULT (0), `key_generation` integer NOT NULL DEFAULT (1), `keyed` bool NOT NULL DEFAULT (false), `ended_at` datetime NULL, `end_reason` text NOT NULL DEFAULT (''), `open_key` text NULL, `released_at` datetime NULL, `created_at` datetime NOT NULL, PRIMARY KEY (`id`));
-- create index "grants_open_key_key" to table: "grants"
CREATE UNIQUE INDEX `grants_open_key_key` ON `grants` (`open_key`);
-- create index "grant_reservation_id" to table: "grants"
CREATE INDEX `grant_reservation_id` ON `grants` (`reservation_id`);
-- create index "grant_property_id_ended_at" to table: "grants"
CREATE INDEX `grant_property_id_ended_at` ON `grants` (`property_id`, `ended_at`);
-- create index "grant_space_id_ended_at" to table: "grants"
CREATE INDEX `grant_space_id_ended_at` ON `grants` (`space_id`, `ended_at`);
-- create "guesses" table
CREATE TABLE `guesses` (`id` text NOT NULL, `property_id` text NOT NULL, `began_at` datetime NOT NULL, `count` integer NOT NULL DEFAULT (0), `before` integer NOT NULL DEFAULT (0), `alarmed_at` datetime NULL, PRIMARY KEY (`id`));
-- create index "guesses_property_id" to table: "guesses"
CREATE INDEX `guesses_property_id` ON `guesses` (`property_id`);
-- create "idempotency_keys" table
CREATE TABLE `idempotency_keys` (`id` integer NOT NULL PRIMARY KEY AUTOINCREMENT, `holder` text NOT NULL, `method` text NOT NULL, `key` text NOT NULL, `request_hash` blob NOT NULL, `answer` blob NOT NULL, `property_id` text NOT NULL DEFAULT (''), `expires_at` datetime NOT NULL, `created_at` datetime NOT NULL);
-- create index "idempotency_holder_method_key" to table: "idempotency_keys"
CREATE UNIQUE INDEX `idempotency_holder_method_key` ON `idempotency_keys` (`holder`, `method`, `key`);
-- create index "idempotency_expires_at" to table: "idempotency_keys"
CREATE INDEX `idempotency_expires_at` ON `idempotency_keys` (`expires_at`);
-- create "integrations" table
CREATE TABLE `integrations` (`id` text NOT NULL, `property_id` text NOT NULL, `app_id` text NULL, `name` text NOT NULL, `scopes` json NOT NULL, `signing_secret` blob NULL, `previous_signing_secret` blob NULL, `spaces_read_at` datetime NULL, `spaces_tried_at` datetime NULL, `spaces_failures` integer NOT NULL DEFAULT (0), `disabled_at` datetime NULL, `created_at` datetime NOT NULL, PRIMARY KEY (`id`));
-- create index "integration_property_id_app_id" to table: "integrations"
CREATE UNIQUE INDEX `integration_property_id_app_id` ON `integrations` (`property_id`, `app_id`);
-- create "issuers" table
CREATE TABLE `issuers` (`id` text NOT NULL, `generation` integer NOT NULL DEFAULT (1), `next_number` integer NOT NULL DEFAULT (0), `list_number` integer NOT NULL DEFAULT (0), `list` blob NULL, `list_key` text NOT NULL DEFAULT (''), `list_digest` blob NULL, `list_at` datetime NOT NULL, `key_set_version` integer NOT NULL DEFAULT (0), `key_set_at` datetime NOT NULL, `least_version` integer NOT NULL DEFAULT (0), `created_at` datetime NOT NULL, PRIMARY KEY (`id`));
-- create "issuer_keys" table
CREATE TABLE `issuer_keys` (`id` text NOT NULL, `property_id` text NOT NULL, `key_id` text NOT NULL, `sealed` blob NULL, `created_at` datetime NOT NULL, PRIMARY KEY (`id`));
-- create index "issuerkey_property_id_key_id" to table: "issuer_keys"
CREATE UNIQUE INDEX `issuerkey_property_id_key_id` ON `issuer_keys` (`property_id`, `key_id`);
-- create "key_sets" table
CREATE TABLE `key_sets` (`id` text NOT NULL, `property_id` text NOT NULL, `version` integer NOT NULL, `signed` blob NOT NULL, `created_at` datetime NOT NULL, PRIMARY KEY (`id`));
-- create index "keyset_property_id_version" to table: "key_sets"
CREATE UNIQUE INDEX `keyset_property_id_version` ON `key_sets` (`property_id`, `version`);
-- create "key_statuses" table
CREATE TABLE `key_statuses` (`id` text NOT NULL, `property_id` text NOT NULL, `number` integer NOT NULL, `phone_id` text NOT NULL, `grant_id` text NOT NULL, `key_generation` integer NOT NULL, `lock_ids` json NOT NULL, `since` datetime NOT NULL, `ends_at` datetime NOT NULL, `revoked_at` datetime NULL, `generation` integer NOT NULL DEFAULT (0), `key_set_version` integer NOT NULL DEFAULT (0), `list_number` integer NOT NULL DEFAULT (0), `revoked_list` integer NOT NULL DEFAULT (0), `checked_ids` json NULL, `opened_ids` json NULL, PRIMARY KEY (`id`));
-- create index "keystatus_property_id_number" to table: "key_statuses"
CREATE UNIQUE INDEX `keystatus_property_id_number` ON `key_statuses` (`property_id`, `number`);
-- create index "keystatus_phone_id" to table: "key_statuses"
CREATE INDEX `keystatus_phone_id` ON `key_statuses` (`phone_id`);
-- create index "keystatus_grant_id" to table: "key_statuses"
CREATE INDEX `keystatus_grant_id` ON `key_statuses` (`grant_id`);
-- create index "keystatus_ends_at" to table: "key_statuses"
CREATE INDEX `keystatus_ends_at` ON `key_statuses` (`ends_at`);
-- create "locks" table
CREATE TABLE `locks` (`id` text NOT NULL, `property_id` text NOT NULL, `name` text NOT NULL, `named` bool NOT NULL DEFAULT (false), `kind` text NOT NULL DEFAULT ('lock'), `bridge_id` text NOT NULL, `address` text NOT NULL, `model` text NOT NULL DEFAULT (''), `door_id` text NULL, `door_since` datetime NULL, `capabilities` json NOT NULL, `status` json NOT NULL, `generation` integer NOT NULL DEFAULT (0), `unreached_at` datetime NULL, `reached_at` datetime NULL, `offline_told_at` datetime NULL, `battery_told_at` datetime NULL, `clock_told_at` datetime NULL, `created_at` datetime NOT NULL, PRIMARY KEY (`id`));
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
-- create "mappings" table
CREATE TABLE `mappings` (`id` integer NOT NULL PRIMARY KEY AUTOINCREMENT, `property_id` text NOT NULL, `integration_id` text NOT NULL, `external_id` text NOT NULL, `space_id` text NOT NULL, `name` text NOT NULL, `type` text NOT NULL, `created_at` datetime NOT NULL);
-- create index "mapping_integration_id_external_id" to table: "mappings"
CREATE UNIQUE INDEX `mapping_integration_id_external_id` ON `mappings` (`integration_id`, `external_id`);
-- create index "mapping_integration_id_space_id" to table: "mappings"
CREATE UNIQUE INDEX `mapping_integration_id_space_id` ON `mappings` (`integration_id`, `space_id`);
-- create index "mapping_space_id" to table: "mappings"
CREATE INDEX `mapping_space_id` ON `mappings` (`space_id`);
-- create "nodes" table
CREATE TABLE `nodes` (`id` text NOT NULL, `seen_at` datetime NOT NULL, `clock_ahead_ms` integer NOT NULL, `created_at` datetime NOT NULL, PRIMARY KEY (`id`));
-- create "notices" table
CREATE TABLE `notices` (`id` text NOT NULL, `property_id` text NOT NULL, `kind` text NOT NULL, `subject` text NOT NULL, `text` text NOT NULL, `once_key` text NULL, `read_at` datetime NULL, `created_at` datetime NOT NULL, PRIMARY KEY (`id`));
-- create index "notices_once_key_key" to table: "notices"
CREATE UNIQUE INDEX `notices_once_key_key` ON `notices` (`once_key`);
-- create index "notice_property_id_created_at" to table: "notices"
CREATE INDEX `notice_property_id_created_at` ON `notices` (`property_id`, `created_at`);
-- create "partner_spaces" table
CREATE TABLE `partner_spaces` (`id` integer NOT NULL PRIMARY KEY AUTOINCREMENT, `property_id` text NOT NULL, `integration_id` text NOT NULL, `external_id` text NOT NULL, `type` text NOT NULL, `name` text NOT NULL, `parent_external_id` text NOT NULL DEFAULT (''), `floor` text NOT NULL DEFAULT (''), `is_private` bool NOT NULL, `is_active` bool NOT NULL, `gone_at` datetime NULL, `seen_at` datetime NOT NULL);
-- create index "partnerspace_integration_id_external_id" to table: "partner_spaces"
CREATE UNIQUE INDEX `partnerspace_integration_id_external_id` ON `partner_spaces` (`integration_id`, `external_id`);
-- create "phones" table
CREATE TABLE `phones` (`id` text NOT NULL, `property_id` text NOT NULL, `reservation_id` text NOT NULL, `name` text NOT NULL DEFAULT (''), `key` blob NOT NULL, `key_id` text NOT NULL, `subject` text NOT NULL, `challenge_at` integer NOT NULL DEFAULT (0), `token_expires_at` datetime NULL, `revoked_at` datetime NULL, `created_at` datetime NOT NULL, PRIMARY KEY (`id`));
-- create index "phone_property_id_reservation_id" to table: "phones"
CREATE INDEX `phone_property_id_reservation_id` ON `phones` (`property_id`, `reservation_id`);
-- create index "phone_property_id_key_id" to table: "phones"
CREATE INDEX `phone_property_id_key_id` ON `phones` (`property_id`, `key_id`);
-- create "phone_links" table
CREATE TABLE `phone_links` (`id` text NOT NULL, `property_id` text NOT NULL, `reservation_id` text NOT NULL, `mac` blob NOT NULL, `expires_at` datetime NOT NULL, `used_at` datetime NULL, `created_at` datetime NOT NULL, PRIMARY KEY (`id`));
-- create index "phone_links_mac_key" to table: "phone_links"
CREATE UNIQUE INDEX `phone_links_mac_key` ON `phone_links` (`mac`);
-- create index "phonelink_property_id_reservation_id" to table: "phone_links"
CREATE INDEX `phonelink_property_id_reservation_id` ON `phone_links` (`property_id`, `reservation_id`);
-- create index "phonelink_expires_at" to table: "phone_links"
CREATE INDEX `phonelink_expires_at` ON `phone_links` (`expires_at`);
-- create "pins" table
CREATE TABLE `pins` (`id` text NOT NULL, `property_id` text NOT NULL, `grant_id` text NOT NULL, `door_id` text NOT NULL DEFAULT (''), `mac` blob NOT NULL, `sealed` blob NOT NULL, `retired` bool NOT NULL DEFAULT (false), `created_at` datetime NOT NULL, PRIMARY KEY (`id`));
-- create index "pin_property_id_mac" to table: "pins"
CREATE UNIQUE INDEX `pin_property_id_mac` ON `pins` (`property_id`, `mac`);
-- create index "pin_grant_id" to table: "pins"
CREATE INDEX `pin_grant_id` ON `pins` (`grant_id`);
-- create "properties" table
CREATE TABLE `properties` (`id` text NOT NULL, `name` text NOT NULL, `time_zone` text NOT NULL, `check_in_time` text NOT NULL DEFAULT ('15:00'), `check_out_time` text NOT NULL DEFAULT ('11:00'), `early_in_minutes` integer NOT NULL DEFAULT (0), `late_out_minutes` integer NOT NULL DEFAULT (0), `pin_length` integer NOT NULL DEFAULT (0), `gates_alone` bool NOT NULL DEFAULT (false), `backup_codes` bool NOT NULL DEFAULT (false), `owing_policy` text NOT NULL DEFAULT ('block'), `owing_threshold_minor` integer NOT NULL DEFAULT (0), `created_at` datetime NOT NULL, PRIMARY KEY (`id`));
-- create index "property_name" to table: "properties"
CREATE INDEX `property_name` ON `properties` (`name`);
-- create "property_keys" table
CREATE TABLE `property_keys` (`id` text NOT NULL, `sealed` blob NOT NULL, `created_at` datetime NOT NULL, PRIMARY KEY (`id`));
-- create "reservations" table
CREATE TABLE `reservations` (`id` text NOT NULL, `property_id` text NOT NULL, `integration_id` text NOT NULL, `pms_id` text NOT NULL, `pms_group_id` text NULL, `pms_space_id` text NULL, `pms_parent_space_id` text NULL, `pms_companion_ids` json NULL, `pms_updated_at` datetime NULL, `pms_number` text NOT NULL, `booker` blob NOT NULL, `state` text NOT NULL, `from_date` text NULL, `to_date` text NULL, `from_at` datetime NOT NULL, `to_at` datetime NOT NULL, `adult_count` integer NULL, `child_count` integer NULL, `price_minor` integer NULL, `owing_minor` integer NULL, `owing_currency` text NULL, `source_name` text NULL, `channel_manager` text NULL, `channel_number` text NULL, `own_space_id` text NULL, `space_key` text NOT NULL DEFAULT (''), `created_at` datetime NOT NULL, `updated_at` datetime NOT NULL, `plan_due_at` datetime NULL, PRIMARY KEY (`id`));
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
-- create "reservation_changes" table
CREATE TABLE `reservation_changes` (`id` integer NOT NULL PRIMARY KEY AUTOINCREMENT, `property_id` text NOT NULL, `integration_id` text NOT NULL, `reservation_id` text NOT NULL, `changed_at` datetime NOT NULL);
-- create index "reservationchange_place" to table: "reservation_changes"
CREATE UNIQUE INDEX `reservationchange_place` ON `reservation_changes` (`property_id`, `changed_at`, `reservation_id`, `integration_id`);
-- create "reservation_names" table
CREATE TABLE `reservation_names` (`id` integer NOT NULL PRIMARY KEY AUTOINCREMENT, `property_id` text NOT NULL, `token` blob NOT NULL, `reservation_id` text NOT NULL, CONSTRAINT `reservation_names_reservations_names` FOREIGN KEY (`reservation_id`) REFERENCES `reservations` (`id`) ON DELETE CASCADE);
-- create index "reservationname_token" to table: "reservation_names"
CREATE INDEX `reservationname_token` ON `reservation_names` (`token`);
-- create index "reservationname_reservation_id" to table: "reservation_names"
CREATE INDEX `reservationname_reservation_id` ON `reservation_names` (`reservation_id`);
-- create "secrets" table
CREATE TABLE `secrets` (`id` text NOT NULL, `sealed` blob NOT NULL, `created_at` datetime NOT NULL, PRIMARY KEY (`id`));
-- create "slots" table
CREATE TABLE `slots` (`id` text NOT NULL, `property_id` text NOT NULL, `lock_id` text NOT NULL, `number` integer NOT NULL, `generation` integer NOT NULL, `present` bool NOT NULL, `grant_id` text NOT NULL DEFAULT (''), `since` integer NOT NULL DEFAULT (0), `pin_id` text NOT NULL DEFAULT (''), `door_id` text NOT NULL DEFAULT (''), `stay_space_id` text NOT NULL DEFAULT (''), `pin` blob NULL, `not_before` datetime NULL, `not_after` datetime NULL, `later` json NULL, `once` text NOT NULL DEFAULT (''), `claimant` text NOT NULL DEFAULT (''), `inherited` bool NOT NULL DEFAULT (false), `former` bool NOT NULL DEFAULT (false), `foreign` bool NOT NULL DEFAULT (false), `evidence` text NOT NULL, `result` text NOT NULL DEFAULT (''), `rule` text NOT NULL DEFAULT (''), `seen_generation` integer NOT NULL DEFAULT (0), `seen_present` bool NOT NULL DEFAULT (false), `seen_evidence` text NOT NULL DEFAULT (''), `seen_result` text NOT NULL DEFAULT (''), `seen_window` integer NOT NULL DEFAULT (0), `seen_used` bool NOT NULL DEFAULT (false), `seen_cleared` bool NOT NULL DEFAULT (false), `seen_at` datetime NULL, `used_at` datetime NULL, `changed_at` datetime NOT NULL, PRIMARY KEY (`id`));
-- create index "slot_lock_id_number" to table: "slots"
CREATE UNIQUE INDEX `slot_lock_id_number` ON `slots` (`lock_id`, `number`);
-- create index "slot_grant_id" to table: "slots"
CREATE INDEX `slot_grant_id` ON `slots` (`grant_id`);
-- create index "slot_property_id" to table: "slots"
CREATE INDEX `slot_property_id` ON `slots` (`property_id`);
-- create "spaces" table
CREATE TABLE `spaces` (`id` text NOT NULL, `property_id` text NOT NULL, `type` text NOT NULL, `name` text NOT NULL, `floor` text NOT NULL DEFAULT (''), `parent_id` text NOT NULL DEFAULT (''), `is_private` bool NOT NULL, `is_active` bool NOT NULL DEFAULT (true), `created_at` datetime NOT NULL, PRIMARY KEY (`id`));
-- create index "space_property_id_name" to table: "spaces"
CREATE INDEX `space_property_id_name` ON `spaces` (`property_id`, `name`);
-- create index "space_property_id_parent_id" to table: "spaces"
CREATE INDEX `space_property_id_parent_id` ON `spaces` (`property_id`, `parent_id`);
-- create "tokens" table
CREATE TABLE `tokens` (`id` text NOT NULL, `kind` text NOT NULL, `mac` blob NOT NULL, `hint` text NOT NULL, `name` text NOT NULL DEFAULT (''), `property_id` text NOT NULL DEFAULT (''), `integration_id` text NOT NULL DEFAULT (''), `app_id` text NOT NULL DEFAULT (''), `role` text NOT NULL DEFAULT (''), `expires_at` datetime NULL, `revoked_at` datetime NULL, `created_at` datetime NOT NULL, PRIMARY KEY (`id`));
-- create index "tokens_mac_key" to table: "tokens"
CREATE UNIQUE INDEX `tokens_mac_key` ON `tokens` (`mac`);
-- create index "token_property_id_kind" to table: "tokens"
CREATE INDEX `token_property_id_kind` ON `tokens` (`property_id`, `kind`);
-- create index "token_integration_id_kind" to table: "tokens"
CREATE INDEX `token_integration_id_kind` ON `tokens` (`integration_id`, `kind`);
-- create index "token_app_id_kind" to table: "tokens"
CREATE INDEX `token_app_id_kind` ON `tokens` (`app_id`, `kind`);
