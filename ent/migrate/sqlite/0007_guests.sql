-- rename a column from "offline_told_at" to "offline_notified_at"
ALTER TABLE `bridges` RENAME COLUMN `offline_told_at` TO `offline_notified_at`;
-- add column "parameters" to table: "conflicts"
ALTER TABLE `conflicts` ADD COLUMN `parameters` json NULL;
-- add column "invitations_at" to table: "integrations"
ALTER TABLE `integrations` ADD COLUMN `invitations_at` datetime NULL;
-- rename a column from "offline_told_at" to "offline_notified_at"
ALTER TABLE `locks` RENAME COLUMN `offline_told_at` TO `offline_notified_at`;
-- rename a column from "battery_told_at" to "battery_notified_at"
ALTER TABLE `locks` RENAME COLUMN `battery_told_at` TO `battery_notified_at`;
-- rename a column from "clock_told_at" to "clock_notified_at"
ALTER TABLE `locks` RENAME COLUMN `clock_told_at` TO `clock_notified_at`;
-- create index "lock_offline_notified_at" to table: "locks"
CREATE INDEX `lock_offline_notified_at` ON `locks` (`offline_notified_at`) WHERE offline_notified_at IS NOT NULL;
-- drop index "lock_offline_told_at" from table: "locks"
DROP INDEX `lock_offline_told_at`;
-- add column "session" to table: "phones"
ALTER TABLE `phones` ADD COLUMN `session` text NULL;
-- create index "phone_session" to table: "phones"
CREATE INDEX `phone_session` ON `phones` (`session`);
-- add column "session" to table: "phone_links"
ALTER TABLE `phone_links` ADD COLUMN `session` text NULL;
-- add column "canceled_at" to table: "reservations"
ALTER TABLE `reservations` ADD COLUMN `canceled_at` datetime NULL;
-- add column "arrived_at" to table: "reservations"
ALTER TABLE `reservations` ADD COLUMN `arrived_at` datetime NULL;
-- add column "folded_number" to table: "reservations"
ALTER TABLE `reservations` ADD COLUMN `folded_number` text NULL;
-- add column "folded_channel_number" to table: "reservations"
ALTER TABLE `reservations` ADD COLUMN `folded_channel_number` text NULL;
-- create index "reservation_property_id_channel_number" to table: "reservations"
CREATE INDEX `reservation_property_id_channel_number` ON `reservations` (`property_id`, `channel_number`) WHERE channel_number IS NOT NULL;
-- create index "reservation_property_id_folded_number" to table: "reservations"
CREATE INDEX `reservation_property_id_folded_number` ON `reservations` (`property_id`, `folded_number`) WHERE folded_number IS NOT NULL;
-- create index "reservation_property_id_folded_channel_number" to table: "reservations"
CREATE INDEX `reservation_property_id_folded_channel_number` ON `reservations` (`property_id`, `folded_channel_number`) WHERE folded_channel_number IS NOT NULL;
-- create index "reservation_integration_id_pms_group_id" to table: "reservations"
CREATE INDEX `reservation_integration_id_pms_group_id` ON `reservations` (`integration_id`, `pms_group_id`) WHERE pms_group_id IS NOT NULL;
-- create index "reservation_canceled_at" to table: "reservations"
CREATE INDEX `reservation_canceled_at` ON `reservations` (`canceled_at`) WHERE canceled_at IS NOT NULL;
-- create "attempts" table
CREATE TABLE `attempts` (`id` text NOT NULL, `began_at` datetime NOT NULL, `last_at` datetime NOT NULL, `count` integer NOT NULL DEFAULT (0), `property_id` text NOT NULL, PRIMARY KEY (`id`), CONSTRAINT `attempts_properties_property` FOREIGN KEY (`property_id`) REFERENCES `properties` (`id`) ON DELETE CASCADE);
-- create index "attempts_property_id" to table: "attempts"
CREATE INDEX `attempts_property_id` ON `attempts` (`property_id`);
-- create index "attempts_began_at" to table: "attempts"
CREATE INDEX `attempts_began_at` ON `attempts` (`began_at`);
-- create "check_in_settings" table
CREATE TABLE `check_in_settings` (`id` text NOT NULL, `rule` text NOT NULL DEFAULT ('none'), `fields` json NULL, `mandatory_groups` json NULL, `often_countries` json NULL, `identity_check` text NOT NULL DEFAULT ('none'), `signature` text NOT NULL DEFAULT ('none'), `house_rules` text NOT NULL DEFAULT (''), `invite_days` integer NOT NULL DEFAULT (14), `remind_days` integer NOT NULL DEFAULT (2), `kiosk_offline_minutes` integer NOT NULL DEFAULT (15), `staff_email` text NOT NULL DEFAULT (''), `desk_phone` text NOT NULL DEFAULT (''), `language` text NOT NULL DEFAULT ('en'), `accent` text NOT NULL DEFAULT (''), `address` text NOT NULL DEFAULT (''), `directions` text NOT NULL DEFAULT (''), `who_fills` text NOT NULL DEFAULT ('all'), `created_at` datetime NOT NULL, `property_id` text NOT NULL, PRIMARY KEY (`id`), CONSTRAINT `check_in_settings_properties_property` FOREIGN KEY (`property_id`) REFERENCES `properties` (`id`) ON DELETE CASCADE);
-- create index "checkinsettings_property_id" to table: "check_in_settings"
CREATE INDEX `checkinsettings_property_id` ON `check_in_settings` (`property_id`);
-- create "disclosures" table
CREATE TABLE `disclosures` (`id` text NOT NULL, `property_id` text NOT NULL, `reservation_id` text NOT NULL, `integration_id` text NOT NULL, `groups` json NOT NULL, `why` text NOT NULL, `call` text NOT NULL, `refused` text NOT NULL DEFAULT (''), `times` integer NOT NULL DEFAULT (1), `last_at` datetime NULL, `created_at` datetime NOT NULL, `guest_id` text NOT NULL, PRIMARY KEY (`id`), CONSTRAINT `disclosures_guests_guest` FOREIGN KEY (`guest_id`) REFERENCES `guests` (`id`) ON DELETE CASCADE);
-- create index "disclosure_property_id" to table: "disclosures"
CREATE INDEX `disclosure_property_id` ON `disclosures` (`property_id`);
-- create index "disclosure_guest_id" to table: "disclosures"
CREATE INDEX `disclosure_guest_id` ON `disclosures` (`guest_id`);
-- create "guests" table
CREATE TABLE `guests` (`id` text NOT NULL, `property_id` text NOT NULL, `role` text NOT NULL, `child` bool NOT NULL DEFAULT (false), `position` integer NOT NULL DEFAULT (0), `person` blob NULL, `complete` bool NOT NULL DEFAULT (false), `from_profile` bool NOT NULL DEFAULT (false), `shared_groups` json NULL, `sharing_set_at` datetime NULL, `sharing_session` text NOT NULL DEFAULT (''), `sharing_by` text NOT NULL DEFAULT (''), `invited_at` datetime NULL, `updated_at` datetime NULL, `law` text NOT NULL DEFAULT (''), `erase_at` datetime NULL, `language` text NOT NULL DEFAULT (''), `created_at` datetime NOT NULL, `reservation_id` text NOT NULL, PRIMARY KEY (`id`), CONSTRAINT `guests_reservations_reservation` FOREIGN KEY (`reservation_id`) REFERENCES `reservations` (`id`) ON DELETE NO ACTION);
-- create index "guest_reservation_id" to table: "guests"
CREATE INDEX `guest_reservation_id` ON `guests` (`reservation_id`);
-- create index "guest_property_id" to table: "guests"
CREATE INDEX `guest_property_id` ON `guests` (`property_id`);
-- create index "guest_reservation_id_law" to table: "guests"
CREATE INDEX `guest_reservation_id_law` ON `guests` (`reservation_id`, `law`) WHERE erase_at IS NULL AND law <> '';
-- create index "guest_erase_at" to table: "guests"
CREATE INDEX `guest_erase_at` ON `guests` (`erase_at`) WHERE erase_at IS NOT NULL;
-- create "erasures" table
CREATE TABLE `erasures` (`id` text NOT NULL, `reservation_id` text NOT NULL, `guest_id` text NOT NULL DEFAULT (''), `requested_by` text NOT NULL, `mac` blob NOT NULL, `mail_id` text NOT NULL DEFAULT (''), `confirmed_at` datetime NULL, `finished_at` datetime NULL, `law` text NOT NULL DEFAULT (''), `kept_until` datetime NULL, `created_at` datetime NOT NULL, `property_id` text NOT NULL, PRIMARY KEY (`id`), CONSTRAINT `erasures_properties_property` FOREIGN KEY (`property_id`) REFERENCES `properties` (`id`) ON DELETE NO ACTION);
-- create index "erasures_mac_key" to table: "erasures"
CREATE UNIQUE INDEX `erasures_mac_key` ON `erasures` (`mac`);
-- create index "erasure_property_id_id" to table: "erasures"
CREATE INDEX `erasure_property_id_id` ON `erasures` (`property_id`, `id`);
-- create index "erasure_reservation_id_guest_id" to table: "erasures"
CREATE UNIQUE INDEX `erasure_reservation_id_guest_id` ON `erasures` (`reservation_id`, `guest_id`) WHERE finished_at IS NULL;
-- create index "erasure_finished_at" to table: "erasures"
CREATE INDEX `erasure_finished_at` ON `erasures` (`finished_at`);
-- create "guest_links" table
CREATE TABLE `guest_links` (`id` text NOT NULL, `property_id` text NOT NULL, `guest_id` text NOT NULL DEFAULT (''), `mac` blob NOT NULL, `address_mac` blob NULL, `handed_by` text NOT NULL DEFAULT (''), `expires_at` datetime NOT NULL, `bound_at` datetime NULL, `revoked_at` datetime NULL, `created_at` datetime NOT NULL, `reservation_id` text NOT NULL, PRIMARY KEY (`id`), CONSTRAINT `guest_links_reservations_reservation` FOREIGN KEY (`reservation_id`) REFERENCES `reservations` (`id`) ON DELETE CASCADE);
-- create index "guest_links_mac_key" to table: "guest_links"
CREATE UNIQUE INDEX `guest_links_mac_key` ON `guest_links` (`mac`);
-- create index "guestlink_reservation_id" to table: "guest_links"
CREATE INDEX `guestlink_reservation_id` ON `guest_links` (`reservation_id`);
-- create index "guestlink_expires_at" to table: "guest_links"
CREATE INDEX `guestlink_expires_at` ON `guest_links` (`expires_at`);
-- create "guest_profiles" table
CREATE TABLE `guest_profiles` (`id` text NOT NULL, `person` blob NOT NULL, `updated_at` datetime NOT NULL, `created_at` datetime NOT NULL, `property_id` text NOT NULL, PRIMARY KEY (`id`), CONSTRAINT `guest_profiles_properties_property` FOREIGN KEY (`property_id`) REFERENCES `properties` (`id`) ON DELETE NO ACTION);
-- create index "guestprofile_property_id" to table: "guest_profiles"
CREATE INDEX `guestprofile_property_id` ON `guest_profiles` (`property_id`);
-- create index "guestprofile_updated_at" to table: "guest_profiles"
CREATE INDEX `guestprofile_updated_at` ON `guest_profiles` (`updated_at`);
-- create "guest_sessions" table
CREATE TABLE `guest_sessions` (`id` text NOT NULL, `property_id` text NOT NULL, `guest_id` text NOT NULL DEFAULT (''), `origin` text NOT NULL, `mac` blob NOT NULL, `handed_by` text NOT NULL DEFAULT (''), `pin_shown` bool NOT NULL DEFAULT (false), `device` text NOT NULL DEFAULT (''), `used_at` datetime NOT NULL, `expires_at` datetime NOT NULL, `revoked_at` datetime NULL, `created_at` datetime NOT NULL, `reservation_id` text NOT NULL, PRIMARY KEY (`id`), CONSTRAINT `guest_sessions_reservations_reservation` FOREIGN KEY (`reservation_id`) REFERENCES `reservations` (`id`) ON DELETE CASCADE);
-- create index "guest_sessions_mac_key" to table: "guest_sessions"
CREATE UNIQUE INDEX `guest_sessions_mac_key` ON `guest_sessions` (`mac`);
-- create index "guestsession_reservation_id" to table: "guest_sessions"
CREATE INDEX `guestsession_reservation_id` ON `guest_sessions` (`reservation_id`);
-- create index "guestsession_expires_at" to table: "guest_sessions"
CREATE INDEX `guestsession_expires_at` ON `guest_sessions` (`expires_at`);
-- create "invitations" table
CREATE TABLE `invitations` (`id` text NOT NULL, `property_id` text NOT NULL, `seen_at` datetime NOT NULL, `next_at` datetime NULL, `due_at` datetime NULL, `address_mac` blob NULL, `invited_at` datetime NULL, `mail_id` text NOT NULL DEFAULT (''), `reminded_at` datetime NULL, `reminder_id` text NOT NULL DEFAULT (''), `round` integer NOT NULL DEFAULT (0), `created_at` datetime NOT NULL, `reservation_id` text NOT NULL, PRIMARY KEY (`id`), CONSTRAINT `invitations_reservations_reservation` FOREIGN KEY (`reservation_id`) REFERENCES `reservations` (`id`) ON DELETE CASCADE);
-- create index "invitation_reservation_id" to table: "invitations"
CREATE UNIQUE INDEX `invitation_reservation_id` ON `invitations` (`reservation_id`);
-- create index "invitation_property_id" to table: "invitations"
CREATE INDEX `invitation_property_id` ON `invitations` (`property_id`);
-- create index "invitation_mail_id" to table: "invitations"
CREATE INDEX `invitation_mail_id` ON `invitations` (`mail_id`);
-- create index "invitation_reminder_id" to table: "invitations"
CREATE INDEX `invitation_reminder_id` ON `invitations` (`reminder_id`);
-- create index "invitation_next_at" to table: "invitations"
CREATE INDEX `invitation_next_at` ON `invitations` (`next_at`) WHERE next_at IS NOT NULL;
-- create "kiosks" table
CREATE TABLE `kiosks` (`id` text NOT NULL, `name` text NOT NULL, `door` text NOT NULL, `code_mac` blob NULL, `code_expires_at` datetime NULL, `mac` blob NULL, `public_key` blob NULL, `enrolled_at` datetime NULL, `seen_at` datetime NULL, `proved_at` datetime NULL, `created_at` datetime NOT NULL, `property_id` text NOT NULL, PRIMARY KEY (`id`), CONSTRAINT `kiosks_properties_property` FOREIGN KEY (`property_id`) REFERENCES `properties` (`id`) ON DELETE NO ACTION);
-- create index "kiosks_door_key" to table: "kiosks"
CREATE UNIQUE INDEX `kiosks_door_key` ON `kiosks` (`door`);
-- create index "kiosks_code_mac_key" to table: "kiosks"
CREATE UNIQUE INDEX `kiosks_code_mac_key` ON `kiosks` (`code_mac`);
-- create index "kiosks_mac_key" to table: "kiosks"
CREATE UNIQUE INDEX `kiosks_mac_key` ON `kiosks` (`mac`);
-- create index "kiosk_property_id_name" to table: "kiosks"
CREATE UNIQUE INDEX `kiosk_property_id_name` ON `kiosks` (`property_id`, `name`);
-- create "mails" table
CREATE TABLE `mails` (`id` text NOT NULL, `kind` text NOT NULL, `reservation_id` text NOT NULL DEFAULT (''), `guest_id` text NOT NULL DEFAULT (''), `once_key` text NULL, `address` blob NOT NULL, `address_mac` blob NULL, `parameters` json NULL, `state` text NOT NULL DEFAULT ('waiting'), `attempts` integer NOT NULL DEFAULT (0), `failure` text NOT NULL DEFAULT (''), `answer` text NOT NULL DEFAULT (''), `text` blob NULL, `sent_at` datetime NULL, `created_at` datetime NOT NULL, `property_id` text NOT NULL, PRIMARY KEY (`id`), CONSTRAINT `mails_properties_property` FOREIGN KEY (`property_id`) REFERENCES `properties` (`id`) ON DELETE NO ACTION);
-- create index "mails_once_key_key" to table: "mails"
CREATE UNIQUE INDEX `mails_once_key_key` ON `mails` (`once_key`);
-- create index "mail_property_id_created_at" to table: "mails"
CREATE INDEX `mail_property_id_created_at` ON `mails` (`property_id`, `created_at`);
-- create index "mail_reservation_id" to table: "mails"
CREATE INDEX `mail_reservation_id` ON `mails` (`reservation_id`);
-- create index "mail_property_id_address_mac" to table: "mails"
CREATE INDEX `mail_property_id_address_mac` ON `mails` (`property_id`, `address_mac`);
-- create index "mail_created_at" to table: "mails"
CREATE INDEX `mail_created_at` ON `mails` (`created_at`) WHERE state = 'waiting' OR state = 'sending';
-- create index "mail_created_at_id" to table: "mails"
CREATE INDEX `mail_created_at_id` ON `mails` (`created_at`, `id`) WHERE reservation_id = '';
-- create "mail_settings" table
CREATE TABLE `mail_settings` (`id` text NOT NULL, `host` text NOT NULL DEFAULT (''), `port` integer NOT NULL DEFAULT (587), `security` text NOT NULL DEFAULT ('starttls'), `user` text NOT NULL DEFAULT (''), `password` blob NULL, `from_address` text NOT NULL DEFAULT (''), `from_name` text NOT NULL DEFAULT (''), `reply_to` text NOT NULL DEFAULT (''), `created_at` datetime NOT NULL, `property_id` text NOT NULL, PRIMARY KEY (`id`), CONSTRAINT `mail_settings_properties_property` FOREIGN KEY (`property_id`) REFERENCES `properties` (`id`) ON DELETE CASCADE);
-- create index "mailsettings_property_id" to table: "mail_settings"
CREATE INDEX `mailsettings_property_id` ON `mail_settings` (`property_id`);
-- create "messages" table
CREATE TABLE `messages` (`id` text NOT NULL, `property_id` text NOT NULL, `reservation_id` text NOT NULL, `number` integer NOT NULL, `sender` text NOT NULL, `author` text NOT NULL DEFAULT (''), `text` blob NOT NULL, `read_at` datetime NULL, `mailed` bool NOT NULL DEFAULT (false), `created_at` datetime NOT NULL, `guest_id` text NOT NULL, PRIMARY KEY (`id`), CONSTRAINT `messages_guests_guest` FOREIGN KEY (`guest_id`) REFERENCES `guests` (`id`) ON DELETE CASCADE);
-- create index "message_guest_id_number" to table: "messages"
CREATE UNIQUE INDEX `message_guest_id_number` ON `messages` (`guest_id`, `number`);
-- create index "message_property_id_created_at" to table: "messages"
CREATE INDEX `message_property_id_created_at` ON `messages` (`property_id`, `created_at`);
-- create index "message_unread" to table: "messages"
CREATE INDEX `message_unread` ON `messages` (`property_id`, `guest_id`) WHERE read_at IS NULL AND sender = 'guest';
-- create index "message_created_at" to table: "messages"
CREATE INDEX `message_created_at` ON `messages` (`created_at`) WHERE read_at IS NULL AND NOT mailed;
-- create "register_entries" table
CREATE TABLE `register_entries` (`id` text NOT NULL, `guest_id` text NOT NULL, `law` text NOT NULL, `arrival_on` text NOT NULL, `form` blob NOT NULL, `erase_at` datetime NOT NULL, `created_at` datetime NOT NULL, `property_id` text NOT NULL, PRIMARY KEY (`id`), CONSTRAINT `register_entries_properties_property` FOREIGN KEY (`property_id`) REFERENCES `properties` (`id`) ON DELETE NO ACTION);
-- create index "register_entries_guest_id_key" to table: "register_entries"
CREATE UNIQUE INDEX `register_entries_guest_id_key` ON `register_entries` (`guest_id`);
-- create index "registerentry_property_id_arrival_on_id" to table: "register_entries"
CREATE INDEX `registerentry_property_id_arrival_on_id` ON `register_entries` (`property_id`, `arrival_on`, `id`);
-- create index "registerentry_erase_at" to table: "register_entries"
CREATE INDEX `registerentry_erase_at` ON `register_entries` (`erase_at`);
-- create "stays" table
CREATE TABLE `stays` (`id` text NOT NULL, `property_id` text NOT NULL, `adult_count` integer NOT NULL DEFAULT (0), `child_count` integer NOT NULL DEFAULT (0), `party_set` bool NOT NULL DEFAULT (false), `arrival_time` text NOT NULL DEFAULT (''), `arrival_set_at` datetime NULL, `house_rules_accepted_at` datetime NULL, `form_completed_at` datetime NULL, `keep_profile` bool NOT NULL DEFAULT (false), `profile_id` text NOT NULL DEFAULT (''), `began_by` text NOT NULL DEFAULT (''), `began_at` datetime NULL, `details_confirmed_at` datetime NULL, `cleared` json NULL, `answer` json NULL, `next_ask_at` datetime NULL, `attempt_key` text NOT NULL DEFAULT (''), `attempt_session` text NOT NULL DEFAULT (''), `attempt_state` text NOT NULL DEFAULT (''), `attempts` integer NOT NULL DEFAULT (0), `attempt_body` blob NULL, `refusal` json NULL, `attempt_at` datetime NULL, `accepted_at` datetime NULL, `ended_by` text NOT NULL DEFAULT (''), `ended_at` datetime NULL, `evaluated_at` datetime NULL, `room_ready_mailed_at` datetime NULL, `created_at` datetime NOT NULL, `reservation_id` text NOT NULL, PRIMARY KEY (`id`), CONSTRAINT `stays_reservations_reservation` FOREIGN KEY (`reservation_id`) REFERENCES `reservations` (`id`) ON DELETE NO ACTION);
-- create index "stay_reservation_id" to table: "stays"
CREATE UNIQUE INDEX `stay_reservation_id` ON `stays` (`reservation_id`);
-- create index "stay_property_id_began_at" to table: "stays"
CREATE INDEX `stay_property_id_began_at` ON `stays` (`property_id`, `began_at`);
-- create index "stay_next_ask_at" to table: "stays"
CREATE INDEX `stay_next_ask_at` ON `stays` (`next_ask_at`) WHERE next_ask_at IS NOT NULL;
-- create index "stay_ended_at_reservation_id" to table: "stays"
CREATE INDEX `stay_ended_at_reservation_id` ON `stays` (`ended_at`, `reservation_id`) WHERE ended_at IS NULL;
-- create "memberships" table
CREATE TABLE `memberships` (`id` text NOT NULL, `role` text NOT NULL, `disabled_at` datetime NULL, `created_at` datetime NOT NULL, `property_id` text NOT NULL, `person_id` text NOT NULL, PRIMARY KEY (`id`), CONSTRAINT `memberships_properties_property` FOREIGN KEY (`property_id`) REFERENCES `properties` (`id`) ON DELETE NO ACTION, CONSTRAINT `memberships_people_person` FOREIGN KEY (`person_id`) REFERENCES `people` (`id`) ON DELETE CASCADE);
-- create index "membership_property_id_person_id" to table: "memberships"
CREATE UNIQUE INDEX `membership_property_id_person_id` ON `memberships` (`property_id`, `person_id`);
-- create index "membership_person_id" to table: "memberships"
CREATE INDEX `membership_person_id` ON `memberships` (`person_id`);
-- create "people" table
CREATE TABLE `people` (`id` text NOT NULL, `email_mac` blob NOT NULL, `email` blob NOT NULL, `name` blob NOT NULL, `password` text NOT NULL, `totp_secret` blob NULL, `totp_confirmed_at` datetime NULL, `totp_step` integer NOT NULL DEFAULT (0), `disabled_at` datetime NULL, `created_at` datetime NOT NULL, PRIMARY KEY (`id`));
-- create index "people_email_mac_key" to table: "people"
CREATE UNIQUE INDEX `people_email_mac_key` ON `people` (`email_mac`);
-- create "person_invitations" table
CREATE TABLE `person_invitations` (`id` text NOT NULL, `mac` blob NOT NULL, `email_mac` blob NULL, `email` blob NULL, `role` text NOT NULL, `invited_by` text NOT NULL, `ends_at` datetime NOT NULL, `created_at` datetime NOT NULL, `property_id` text NULL, PRIMARY KEY (`id`), CONSTRAINT `person_invitations_properties_property` FOREIGN KEY (`property_id`) REFERENCES `properties` (`id`) ON DELETE CASCADE);
-- create index "person_invitations_mac_key" to table: "person_invitations"
CREATE UNIQUE INDEX `person_invitations_mac_key` ON `person_invitations` (`mac`);
-- create index "personinvitation_property_id" to table: "person_invitations"
CREATE INDEX `personinvitation_property_id` ON `person_invitations` (`property_id`);
-- create index "personinvitation_ends_at" to table: "person_invitations"
CREATE INDEX `personinvitation_ends_at` ON `person_invitations` (`ends_at`);
-- create "person_sessions" table
CREATE TABLE `person_sessions` (`id` text NOT NULL, `mac` blob NOT NULL, `pending` bool NOT NULL DEFAULT (false), `device` text NOT NULL DEFAULT (''), `used_at` datetime NOT NULL, `ends_at` datetime NOT NULL, `second_factor_at` datetime NULL, `created_at` datetime NOT NULL, `person_id` text NOT NULL, PRIMARY KEY (`id`), CONSTRAINT `person_sessions_people_person` FOREIGN KEY (`person_id`) REFERENCES `people` (`id`) ON DELETE CASCADE);
-- create index "person_sessions_mac_key" to table: "person_sessions"
CREATE UNIQUE INDEX `person_sessions_mac_key` ON `person_sessions` (`mac`);
-- create index "personsession_person_id" to table: "person_sessions"
CREATE INDEX `personsession_person_id` ON `person_sessions` (`person_id`);
-- create index "personsession_ends_at" to table: "person_sessions"
CREATE INDEX `personsession_ends_at` ON `person_sessions` (`ends_at`);
-- create "recovery_codes" table
CREATE TABLE `recovery_codes` (`id` text NOT NULL, `mac` blob NOT NULL, `used_at` datetime NULL, `person_id` text NOT NULL, PRIMARY KEY (`id`), CONSTRAINT `recovery_codes_people_person` FOREIGN KEY (`person_id`) REFERENCES `people` (`id`) ON DELETE CASCADE);
-- create index "recoverycode_person_id" to table: "recovery_codes"
CREATE INDEX `recoverycode_person_id` ON `recovery_codes` (`person_id`);
-- create "sign_in_attempts" table
CREATE TABLE `sign_in_attempts` (`id` text NOT NULL, `began_at` datetime NOT NULL, `last_at` datetime NOT NULL, `count` integer NOT NULL DEFAULT (0), PRIMARY KEY (`id`));
-- create index "signinattempts_last_at" to table: "sign_in_attempts"
CREATE INDEX `signinattempts_last_at` ON `sign_in_attempts` (`last_at`);
-- create "audit_entries" table
CREATE TABLE `audit_entries` (`id` text NOT NULL, `property_id` text NOT NULL, `seq` integer NOT NULL, `at` datetime NOT NULL, `actor` text NOT NULL, `action` text NOT NULL, `subjects` json NOT NULL, `from_address` text NOT NULL DEFAULT (''), `reason` text NOT NULL DEFAULT (''), `outcome` text NOT NULL, `previous` blob NOT NULL, `hash` blob NOT NULL, PRIMARY KEY (`id`));
-- create index "auditentry_property_id_seq" to table: "audit_entries"
CREATE UNIQUE INDEX `auditentry_property_id_seq` ON `audit_entries` (`property_id`, `seq`);
-- create index "auditentry_at" to table: "audit_entries"
CREATE INDEX `auditentry_at` ON `audit_entries` (`at`);
-- create "audit_heads" table
CREATE TABLE `audit_heads` (`id` text NOT NULL, `seq` integer NOT NULL, `hash` blob NOT NULL, `cut` integer NOT NULL DEFAULT (0), `cut_hash` blob NOT NULL, `mac` blob NOT NULL, `property_id` text NOT NULL, PRIMARY KEY (`id`), CONSTRAINT `audit_heads_properties_property` FOREIGN KEY (`property_id`) REFERENCES `properties` (`id`) ON DELETE NO ACTION);
-- create index "audithead_property_id" to table: "audit_heads"
CREATE INDEX `audithead_property_id` ON `audit_heads` (`property_id`);
-- create "webhooks" table
CREATE TABLE `webhooks` (`id` text NOT NULL, `property_id` text NOT NULL, `url` text NOT NULL, `kinds` json NOT NULL, `secret` blob NOT NULL, `previous_secret` blob NULL, `previous_until` datetime NULL, `disabled_at` datetime NULL, `disabled_reason` text NOT NULL DEFAULT (''), `failures` integer NOT NULL DEFAULT (0), `last_success_at` datetime NULL, `last_failure_at` datetime NULL, `last_error` text NOT NULL DEFAULT (''), `given_up` integer NOT NULL DEFAULT (0), `given_up_at` datetime NULL, `drained_by` integer NOT NULL DEFAULT (0), `drained_until` datetime NULL, `created_at` datetime NOT NULL, `integration_id` text NOT NULL, PRIMARY KEY (`id`), CONSTRAINT `webhooks_integrations_integration` FOREIGN KEY (`integration_id`) REFERENCES `integrations` (`id`) ON DELETE CASCADE);
-- create index "webhook_integration_id" to table: "webhooks"
CREATE INDEX `webhook_integration_id` ON `webhooks` (`integration_id`);
-- create index "webhook_property_id" to table: "webhooks"
CREATE INDEX `webhook_property_id` ON `webhooks` (`property_id`);
-- create index "event_property_id_position" to table: "events"
CREATE INDEX `event_property_id_position` ON `events` (`property_id`, `position`) WHERE position > 0;
-- add column "webhook_id" to table: "event_cursors"
ALTER TABLE `event_cursors` ADD COLUMN `webhook_id` text NULL CONSTRAINT `event_cursors_webhooks_webhook` REFERENCES `webhooks` (`id`) ON DELETE CASCADE;
-- create index "eventcursor_webhook_id_retry_at" to table: "event_cursors"
CREATE INDEX `eventcursor_webhook_id_retry_at` ON `event_cursors` (`webhook_id`, `retry_at`);
