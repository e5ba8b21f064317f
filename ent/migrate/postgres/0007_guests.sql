-- rename a column from "offline_told_at" to "offline_notified_at"
ALTER TABLE "bridges" RENAME COLUMN "offline_told_at" TO "offline_notified_at";
-- modify "conflicts" table
ALTER TABLE "conflicts" ADD COLUMN "parameters" jsonb NULL;
-- modify "integrations" table
ALTER TABLE "integrations" ADD COLUMN "invitations_at" timestamptz NULL;
-- rename a column from "offline_told_at" to "offline_notified_at"
ALTER TABLE "locks" RENAME COLUMN "offline_told_at" TO "offline_notified_at";
-- rename a column from "battery_told_at" to "battery_notified_at"
ALTER TABLE "locks" RENAME COLUMN "battery_told_at" TO "battery_notified_at";
-- rename a column from "clock_told_at" to "clock_notified_at"
ALTER TABLE "locks" RENAME COLUMN "clock_told_at" TO "clock_notified_at";
-- rename an index from "lock_offline_told_at" to "lock_offline_notified_at"
ALTER INDEX "lock_offline_told_at" RENAME TO "lock_offline_notified_at";
-- modify "phone_links" table
ALTER TABLE "phone_links" ADD COLUMN "session" character varying NULL;
-- modify "phones" table
ALTER TABLE "phones" ADD COLUMN "session" character varying NULL;
-- create index "phone_session" to table: "phones"
CREATE INDEX "phone_session" ON "phones" ("session");
-- create "attempts" table
CREATE TABLE "attempts" ("id" character varying NOT NULL, "began_at" timestamptz NOT NULL, "last_at" timestamptz NOT NULL, "count" bigint NOT NULL DEFAULT 0, "property_id" character varying NOT NULL, PRIMARY KEY ("id"), CONSTRAINT "attempts_properties_property" FOREIGN KEY ("property_id") REFERENCES "properties" ("id") ON UPDATE NO ACTION ON DELETE CASCADE);
-- create index "attempts_began_at" to table: "attempts"
CREATE INDEX "attempts_began_at" ON "attempts" ("began_at");
-- create index "attempts_property_id" to table: "attempts"
CREATE INDEX "attempts_property_id" ON "attempts" ("property_id");
-- create "check_in_settings" table
CREATE TABLE "check_in_settings" ("id" character varying NOT NULL, "rule" character varying NOT NULL DEFAULT 'none', "fields" jsonb NULL, "mandatory_groups" jsonb NULL, "often_countries" jsonb NULL, "identity_check" character varying NOT NULL DEFAULT 'none', "signature" character varying NOT NULL DEFAULT 'none', "house_rules" character varying NOT NULL DEFAULT '', "invite_days" bigint NOT NULL DEFAULT 14, "remind_days" bigint NOT NULL DEFAULT 2, "kiosk_offline_minutes" bigint NOT NULL DEFAULT 15, "staff_email" character varying NOT NULL DEFAULT '', "desk_phone" character varying NOT NULL DEFAULT '', "language" character varying NOT NULL DEFAULT 'en', "accent" character varying NOT NULL DEFAULT '', "address" character varying NOT NULL DEFAULT '', "directions" character varying NOT NULL DEFAULT '', "who_fills" character varying NOT NULL DEFAULT 'all', "created_at" timestamptz NOT NULL, "property_id" character varying NOT NULL, PRIMARY KEY ("id"), CONSTRAINT "check_in_settings_properties_property" FOREIGN KEY ("property_id") REFERENCES "properties" ("id") ON UPDATE NO ACTION ON DELETE CASCADE);
-- create index "checkinsettings_property_id" to table: "check_in_settings"
CREATE INDEX "checkinsettings_property_id" ON "check_in_settings" ("property_id");
-- modify "reservations" table
ALTER TABLE "reservations" ADD COLUMN "canceled_at" timestamptz NULL, ADD COLUMN "arrived_at" timestamptz NULL, ADD COLUMN "folded_number" character varying NULL, ADD COLUMN "folded_channel_number" character varying NULL;
-- create index "reservation_canceled_at" to table: "reservations"
CREATE INDEX "reservation_canceled_at" ON "reservations" ("canceled_at") WHERE (canceled_at IS NOT NULL);
-- create index "reservation_integration_id_pms_group_id" to table: "reservations"
CREATE INDEX "reservation_integration_id_pms_group_id" ON "reservations" ("integration_id", "pms_group_id") WHERE (pms_group_id IS NOT NULL);
-- create index "reservation_property_id_channel_number" to table: "reservations"
CREATE INDEX "reservation_property_id_channel_number" ON "reservations" ("property_id", "channel_number") WHERE (channel_number IS NOT NULL);
-- create index "reservation_property_id_folded_channel_number" to table: "reservations"
CREATE INDEX "reservation_property_id_folded_channel_number" ON "reservations" ("property_id", "folded_channel_number") WHERE (folded_channel_number IS NOT NULL);
-- create index "reservation_property_id_folded_number" to table: "reservations"
CREATE INDEX "reservation_property_id_folded_number" ON "reservations" ("property_id", "folded_number") WHERE (folded_number IS NOT NULL);
-- create "guests" table
CREATE TABLE "guests" ("id" character varying NOT NULL, "property_id" character varying NOT NULL, "role" character varying NOT NULL, "child" boolean NOT NULL DEFAULT false, "position" bigint NOT NULL DEFAULT 0, "person" bytea NULL, "complete" boolean NOT NULL DEFAULT false, "from_profile" boolean NOT NULL DEFAULT false, "shared_groups" jsonb NULL, "sharing_set_at" timestamptz NULL, "sharing_session" character varying NOT NULL DEFAULT '', "sharing_by" character varying NOT NULL DEFAULT '', "invited_at" timestamptz NULL, "updated_at" timestamptz NULL, "law" character varying NOT NULL DEFAULT '', "erase_at" timestamptz NULL, "language" character varying NOT NULL DEFAULT '', "created_at" timestamptz NOT NULL, "reservation_id" character varying NOT NULL, PRIMARY KEY ("id"), CONSTRAINT "guests_reservations_reservation" FOREIGN KEY ("reservation_id") REFERENCES "reservations" ("id") ON UPDATE NO ACTION ON DELETE NO ACTION);
-- create index "guest_erase_at" to table: "guests"
CREATE INDEX "guest_erase_at" ON "guests" ("erase_at") WHERE (erase_at IS NOT NULL);
-- create index "guest_property_id" to table: "guests"
CREATE INDEX "guest_property_id" ON "guests" ("property_id");
-- create index "guest_reservation_id" to table: "guests"
CREATE INDEX "guest_reservation_id" ON "guests" ("reservation_id");
-- create index "guest_reservation_id_law" to table: "guests"
CREATE INDEX "guest_reservation_id_law" ON "guests" ("reservation_id", "law") WHERE ((erase_at IS NULL) AND ((law)::text <> ''::text));
-- create "disclosures" table
CREATE TABLE "disclosures" ("id" character varying NOT NULL, "property_id" character varying NOT NULL, "reservation_id" character varying NOT NULL, "integration_id" character varying NOT NULL, "groups" jsonb NOT NULL, "why" character varying NOT NULL, "call" character varying NOT NULL, "refused" character varying NOT NULL DEFAULT '', "times" bigint NOT NULL DEFAULT 1, "last_at" timestamptz NULL, "created_at" timestamptz NOT NULL, "guest_id" character varying NOT NULL, PRIMARY KEY ("id"), CONSTRAINT "disclosures_guests_guest" FOREIGN KEY ("guest_id") REFERENCES "guests" ("id") ON UPDATE NO ACTION ON DELETE CASCADE);
-- create index "disclosure_guest_id" to table: "disclosures"
CREATE INDEX "disclosure_guest_id" ON "disclosures" ("guest_id");
-- create index "disclosure_property_id" to table: "disclosures"
CREATE INDEX "disclosure_property_id" ON "disclosures" ("property_id");
-- create "erasures" table
CREATE TABLE "erasures" ("id" character varying NOT NULL, "reservation_id" character varying NOT NULL, "guest_id" character varying NOT NULL DEFAULT '', "requested_by" character varying NOT NULL, "mac" bytea NOT NULL, "mail_id" character varying NOT NULL DEFAULT '', "confirmed_at" timestamptz NULL, "finished_at" timestamptz NULL, "law" character varying NOT NULL DEFAULT '', "kept_until" timestamptz NULL, "created_at" timestamptz NOT NULL, "property_id" character varying NOT NULL, PRIMARY KEY ("id"), CONSTRAINT "erasures_properties_property" FOREIGN KEY ("property_id") REFERENCES "properties" ("id") ON UPDATE NO ACTION ON DELETE NO ACTION);
-- create index "erasure_finished_at" to table: "erasures"
CREATE INDEX "erasure_finished_at" ON "erasures" ("finished_at");
-- create index "erasure_property_id_id" to table: "erasures"
CREATE INDEX "erasure_property_id_id" ON "erasures" ("property_id", "id");
-- create index "erasure_reservation_id_guest_id" to table: "erasures"
CREATE UNIQUE INDEX "erasure_reservation_id_guest_id" ON "erasures" ("reservation_id", "guest_id") WHERE (finished_at IS NULL);
-- create index "erasures_mac_key" to table: "erasures"
CREATE UNIQUE INDEX "erasures_mac_key" ON "erasures" ("mac");
-- create "guest_links" table
CREATE TABLE "guest_links" ("id" character varying NOT NULL, "property_id" character varying NOT NULL, "guest_id" character varying NOT NULL DEFAULT '', "mac" bytea NOT NULL, "address_mac" bytea NULL, "handed_by" character varying NOT NULL DEFAULT '', "expires_at" timestamptz NOT NULL, "bound_at" timestamptz NULL, "revoked_at" timestamptz NULL, "created_at" timestamptz NOT NULL, "reservation_id" character varying NOT NULL, PRIMARY KEY ("id"), CONSTRAINT "guest_links_reservations_reservation" FOREIGN KEY ("reservation_id") REFERENCES "reservations" ("id") ON UPDATE NO ACTION ON DELETE CASCADE);
-- create index "guest_links_mac_key" to table: "guest_links"
CREATE UNIQUE INDEX "guest_links_mac_key" ON "guest_links" ("mac");
-- create index "guestlink_expires_at" to table: "guest_links"
CREATE INDEX "guestlink_expires_at" ON "guest_links" ("expires_at");
-- create index "guestlink_reservation_id" to table: "guest_links"
CREATE INDEX "guestlink_reservation_id" ON "guest_links" ("reservation_id");
-- create "guest_profiles" table
CREATE TABLE "guest_profiles" ("id" character varying NOT NULL, "person" bytea NOT NULL, "updated_at" timestamptz NOT NULL, "created_at" timestamptz NOT NULL, "property_id" character varying NOT NULL, PRIMARY KEY ("id"), CONSTRAINT "guest_profiles_properties_property" FOREIGN KEY ("property_id") REFERENCES "properties" ("id") ON UPDATE NO ACTION ON DELETE NO ACTION);
-- create index "guestprofile_property_id" to table: "guest_profiles"
CREATE INDEX "guestprofile_property_id" ON "guest_profiles" ("property_id");
-- create index "guestprofile_updated_at" to table: "guest_profiles"
CREATE INDEX "guestprofile_updated_at" ON "guest_profiles" ("updated_at");
-- create "guest_sessions" table
CREATE TABLE "guest_sessions" ("id" character varying NOT NULL, "property_id" character varying NOT NULL, "guest_id" character varying NOT NULL DEFAULT '', "origin" character varying NOT NULL, "mac" bytea NOT NULL, "handed_by" character varying NOT NULL DEFAULT '', "pin_shown" boolean NOT NULL DEFAULT false, "device" character varying NOT NULL DEFAULT '', "used_at" timestamptz NOT NULL, "expires_at" timestamptz NOT NULL, "revoked_at" timestamptz NULL, "created_at" timestamptz NOT NULL, "reservation_id" character varying NOT NULL, PRIMARY KEY ("id"), CONSTRAINT "guest_sessions_reservations_reservation" FOREIGN KEY ("reservation_id") REFERENCES "reservations" ("id") ON UPDATE NO ACTION ON DELETE CASCADE);
-- create index "guest_sessions_mac_key" to table: "guest_sessions"
CREATE UNIQUE INDEX "guest_sessions_mac_key" ON "guest_sessions" ("mac");
-- create index "guestsession_expires_at" to table: "guest_sessions"
CREATE INDEX "guestsession_expires_at" ON "guest_sessions" ("expires_at");
-- create index "guestsession_reservation_id" to table: "guest_sessions"
CREATE INDEX "guestsession_reservation_id" ON "guest_sessions" ("reservation_id");
-- create "invitations" table
CREATE TABLE "invitations" ("id" character varying NOT NULL, "property_id" character varying NOT NULL, "seen_at" timestamptz NOT NULL, "next_at" timestamptz NULL, "due_at" timestamptz NULL, "address_mac" bytea NULL, "invited_at" timestamptz NULL, "mail_id" character varying NOT NULL DEFAULT '', "reminded_at" timestamptz NULL, "reminder_id" character varying NOT NULL DEFAULT '', "round" bigint NOT NULL DEFAULT 0, "created_at" timestamptz NOT NULL, "reservation_id" character varying NOT NULL, PRIMARY KEY ("id"), CONSTRAINT "invitations_reservations_reservation" FOREIGN KEY ("reservation_id") REFERENCES "reservations" ("id") ON UPDATE NO ACTION ON DELETE CASCADE);
-- create index "invitation_mail_id" to table: "invitations"
CREATE INDEX "invitation_mail_id" ON "invitations" ("mail_id");
-- create index "invitation_next_at" to table: "invitations"
CREATE INDEX "invitation_next_at" ON "invitations" ("next_at") WHERE (next_at IS NOT NULL);
-- create index "invitation_property_id" to table: "invitations"
CREATE INDEX "invitation_property_id" ON "invitations" ("property_id");
-- create index "invitation_reminder_id" to table: "invitations"
CREATE INDEX "invitation_reminder_id" ON "invitations" ("reminder_id");
-- create index "invitation_reservation_id" to table: "invitations"
CREATE UNIQUE INDEX "invitation_reservation_id" ON "invitations" ("reservation_id");
-- create "kiosks" table
CREATE TABLE "kiosks" ("id" character varying NOT NULL, "name" character varying NOT NULL, "door" character varying NOT NULL, "code_mac" bytea NULL, "code_expires_at" timestamptz NULL, "mac" bytea NULL, "public_key" bytea NULL, "enrolled_at" timestamptz NULL, "seen_at" timestamptz NULL, "proved_at" timestamptz NULL, "created_at" timestamptz NOT NULL, "property_id" character varying NOT NULL, PRIMARY KEY ("id"), CONSTRAINT "kiosks_properties_property" FOREIGN KEY ("property_id") REFERENCES "properties" ("id") ON UPDATE NO ACTION ON DELETE NO ACTION);
-- create index "kiosk_property_id_name" to table: "kiosks"
CREATE UNIQUE INDEX "kiosk_property_id_name" ON "kiosks" ("property_id", "name");
-- create index "kiosks_code_mac_key" to table: "kiosks"
CREATE UNIQUE INDEX "kiosks_code_mac_key" ON "kiosks" ("code_mac");
-- create index "kiosks_door_key" to table: "kiosks"
CREATE UNIQUE INDEX "kiosks_door_key" ON "kiosks" ("door");
-- create index "kiosks_mac_key" to table: "kiosks"
CREATE UNIQUE INDEX "kiosks_mac_key" ON "kiosks" ("mac");
-- create "mail_settings" table
CREATE TABLE "mail_settings" ("id" character varying NOT NULL, "host" character varying NOT NULL DEFAULT '', "port" bigint NOT NULL DEFAULT 587, "security" character varying NOT NULL DEFAULT 'starttls', "user" character varying NOT NULL DEFAULT '', "password" bytea NULL, "from_address" character varying NOT NULL DEFAULT '', "from_name" character varying NOT NULL DEFAULT '', "reply_to" character varying NOT NULL DEFAULT '', "created_at" timestamptz NOT NULL, "property_id" character varying NOT NULL, PRIMARY KEY ("id"), CONSTRAINT "mail_settings_properties_property" FOREIGN KEY ("property_id") REFERENCES "properties" ("id") ON UPDATE NO ACTION ON DELETE CASCADE);
-- create index "mailsettings_property_id" to table: "mail_settings"
CREATE INDEX "mailsettings_property_id" ON "mail_settings" ("property_id");
-- create "mails" table
CREATE TABLE "mails" ("id" character varying NOT NULL, "kind" character varying NOT NULL, "reservation_id" character varying NOT NULL DEFAULT '', "guest_id" character varying NOT NULL DEFAULT '', "once_key" character varying NULL, "address" bytea NOT NULL, "address_mac" bytea NULL, "parameters" jsonb NULL, "state" character varying NOT NULL DEFAULT 'waiting', "attempts" bigint NOT NULL DEFAULT 0, "failure" character varying NOT NULL DEFAULT '', "answer" character varying NOT NULL DEFAULT '', "text" bytea NULL, "sent_at" timestamptz NULL, "created_at" timestamptz NOT NULL, "property_id" character varying NOT NULL, PRIMARY KEY ("id"), CONSTRAINT "mails_properties_property" FOREIGN KEY ("property_id") REFERENCES "properties" ("id") ON UPDATE NO ACTION ON DELETE NO ACTION);
-- create index "mail_created_at" to table: "mails"
CREATE INDEX "mail_created_at" ON "mails" ("created_at") WHERE (((state)::text = 'waiting'::text) OR ((state)::text = 'sending'::text));
-- create index "mail_created_at_id" to table: "mails"
CREATE INDEX "mail_created_at_id" ON "mails" ("created_at", "id") WHERE ((reservation_id)::text = ''::text);
-- create index "mail_property_id_address_mac" to table: "mails"
CREATE INDEX "mail_property_id_address_mac" ON "mails" ("property_id", "address_mac");
-- create index "mail_property_id_created_at" to table: "mails"
CREATE INDEX "mail_property_id_created_at" ON "mails" ("property_id", "created_at");
-- create index "mail_reservation_id" to table: "mails"
CREATE INDEX "mail_reservation_id" ON "mails" ("reservation_id");
-- create index "mails_once_key_key" to table: "mails"
CREATE UNIQUE INDEX "mails_once_key_key" ON "mails" ("once_key");
-- create "messages" table
CREATE TABLE "messages" ("id" character varying NOT NULL, "property_id" character varying NOT NULL, "reservation_id" character varying NOT NULL, "number" bigint NOT NULL, "sender" character varying NOT NULL, "author" character varying NOT NULL DEFAULT '', "text" bytea NOT NULL, "read_at" timestamptz NULL, "mailed" boolean NOT NULL DEFAULT false, "created_at" timestamptz NOT NULL, "guest_id" character varying NOT NULL, PRIMARY KEY ("id"), CONSTRAINT "messages_guests_guest" FOREIGN KEY ("guest_id") REFERENCES "guests" ("id") ON UPDATE NO ACTION ON DELETE CASCADE);
-- create index "message_created_at" to table: "messages"
CREATE INDEX "message_created_at" ON "messages" ("created_at") WHERE ((read_at IS NULL) AND (NOT mailed));
-- create index "message_guest_id_number" to table: "messages"
CREATE UNIQUE INDEX "message_guest_id_number" ON "messages" ("guest_id", "number");
-- create index "message_property_id_created_at" to table: "messages"
CREATE INDEX "message_property_id_created_at" ON "messages" ("property_id", "created_at");
-- create index "message_unread" to table: "messages"
CREATE INDEX "message_unread" ON "messages" ("property_id", "guest_id") WHERE ((read_at IS NULL) AND ((sender)::text = 'guest'::text));
-- create "register_entries" table
CREATE TABLE "register_entries" ("id" character varying NOT NULL, "guest_id" character varying NOT NULL, "law" character varying NOT NULL, "arrival_on" character varying NOT NULL, "form" bytea NOT NULL, "erase_at" timestamptz NOT NULL, "created_at" timestamptz NOT NULL, "property_id" character varying NOT NULL, PRIMARY KEY ("id"), CONSTRAINT "register_entries_properties_property" FOREIGN KEY ("property_id") REFERENCES "properties" ("id") ON UPDATE NO ACTION ON DELETE NO ACTION);
-- create index "register_entries_guest_id_key" to table: "register_entries"
CREATE UNIQUE INDEX "register_entries_guest_id_key" ON "register_entries" ("guest_id");
-- create index "registerentry_erase_at" to table: "register_entries"
CREATE INDEX "registerentry_erase_at" ON "register_entries" ("erase_at");
-- create index "registerentry_property_id_arrival_on_id" to table: "register_entries"
CREATE INDEX "registerentry_property_id_arrival_on_id" ON "register_entries" ("property_id", "arrival_on", "id");
-- create "stays" table
CREATE TABLE "stays" ("id" character varying NOT NULL, "property_id" character varying NOT NULL, "adult_count" bigint NOT NULL DEFAULT 0, "child_count" bigint NOT NULL DEFAULT 0, "party_set" boolean NOT NULL DEFAULT false, "arrival_time" character varying NOT NULL DEFAULT '', "arrival_set_at" timestamptz NULL, "house_rules_accepted_at" timestamptz NULL, "form_completed_at" timestamptz NULL, "keep_profile" boolean NOT NULL DEFAULT false, "profile_id" character varying NOT NULL DEFAULT '', "began_by" character varying NOT NULL DEFAULT '', "began_at" timestamptz NULL, "details_confirmed_at" timestamptz NULL, "cleared" jsonb NULL, "answer" jsonb NULL, "next_ask_at" timestamptz NULL, "attempt_key" character varying NOT NULL DEFAULT '', "attempt_session" character varying NOT NULL DEFAULT '', "attempt_state" character varying NOT NULL DEFAULT '', "attempts" bigint NOT NULL DEFAULT 0, "attempt_body" bytea NULL, "refusal" jsonb NULL, "attempt_at" timestamptz NULL, "accepted_at" timestamptz NULL, "ended_by" character varying NOT NULL DEFAULT '', "ended_at" timestamptz NULL, "evaluated_at" timestamptz NULL, "room_ready_mailed_at" timestamptz NULL, "created_at" timestamptz NOT NULL, "reservation_id" character varying NOT NULL, PRIMARY KEY ("id"), CONSTRAINT "stays_reservations_reservation" FOREIGN KEY ("reservation_id") REFERENCES "reservations" ("id") ON UPDATE NO ACTION ON DELETE NO ACTION);
-- create index "stay_ended_at_reservation_id" to table: "stays"
CREATE INDEX "stay_ended_at_reservation_id" ON "stays" ("ended_at", "reservation_id") WHERE (ended_at IS NULL);
-- create index "stay_next_ask_at" to table: "stays"
CREATE INDEX "stay_next_ask_at" ON "stays" ("next_ask_at") WHERE (next_ask_at IS NOT NULL);
-- create index "stay_property_id_began_at" to table: "stays"
CREATE INDEX "stay_property_id_began_at" ON "stays" ("property_id", "began_at");
-- create index "stay_reservation_id" to table: "stays"
CREATE UNIQUE INDEX "stay_reservation_id" ON "stays" ("reservation_id");
-- create "people" table
CREATE TABLE "people" ("id" character varying NOT NULL, "email_mac" bytea NOT NULL, "email" bytea NOT NULL, "name" bytea NOT NULL, "password" character varying NOT NULL, "totp_secret" bytea NULL, "totp_confirmed_at" timestamptz NULL, "totp_step" bigint NOT NULL DEFAULT 0, "disabled_at" timestamptz NULL, "created_at" timestamptz NOT NULL, PRIMARY KEY ("id"));
-- create index "people_email_mac_key" to table: "people"
CREATE UNIQUE INDEX "people_email_mac_key" ON "people" ("email_mac");
-- create "sign_in_attempts" table
CREATE TABLE "sign_in_attempts" ("id" character varying NOT NULL, "began_at" timestamptz NOT NULL, "last_at" timestamptz NOT NULL, "count" bigint NOT NULL DEFAULT 0, PRIMARY KEY ("id"));
-- create index "signinattempts_last_at" to table: "sign_in_attempts"
CREATE INDEX "signinattempts_last_at" ON "sign_in_attempts" ("last_at");
-- create "memberships" table
CREATE TABLE "memberships" ("id" character varying NOT NULL, "role" character varying NOT NULL, "disabled_at" timestamptz NULL, "created_at" timestamptz NOT NULL, "property_id" character varying NOT NULL, "person_id" character varying NOT NULL, PRIMARY KEY ("id"), CONSTRAINT "memberships_people_person" FOREIGN KEY ("person_id") REFERENCES "people" ("id") ON UPDATE NO ACTION ON DELETE CASCADE, CONSTRAINT "memberships_properties_property" FOREIGN KEY ("property_id") REFERENCES "properties" ("id") ON UPDATE NO ACTION ON DELETE NO ACTION);
-- create index "membership_person_id" to table: "memberships"
CREATE INDEX "membership_person_id" ON "memberships" ("person_id");
-- create index "membership_property_id_person_id" to table: "memberships"
CREATE UNIQUE INDEX "membership_property_id_person_id" ON "memberships" ("property_id", "person_id");
-- create "person_invitations" table
CREATE TABLE "person_invitations" ("id" character varying NOT NULL, "mac" bytea NOT NULL, "email_mac" bytea NULL, "email" bytea NULL, "role" character varying NOT NULL, "invited_by" character varying NOT NULL, "ends_at" timestamptz NOT NULL, "created_at" timestamptz NOT NULL, "property_id" character varying NULL, PRIMARY KEY ("id"), CONSTRAINT "person_invitations_properties_property" FOREIGN KEY ("property_id") REFERENCES "properties" ("id") ON UPDATE NO ACTION ON DELETE CASCADE);
-- create index "person_invitations_mac_key" to table: "person_invitations"
CREATE UNIQUE INDEX "person_invitations_mac_key" ON "person_invitations" ("mac");
-- create index "personinvitation_ends_at" to table: "person_invitations"
CREATE INDEX "personinvitation_ends_at" ON "person_invitations" ("ends_at");
-- create index "personinvitation_property_id" to table: "person_invitations"
CREATE INDEX "personinvitation_property_id" ON "person_invitations" ("property_id");
-- create "person_sessions" table
CREATE TABLE "person_sessions" ("id" character varying NOT NULL, "mac" bytea NOT NULL, "pending" boolean NOT NULL DEFAULT false, "device" character varying NOT NULL DEFAULT '', "used_at" timestamptz NOT NULL, "ends_at" timestamptz NOT NULL, "second_factor_at" timestamptz NULL, "created_at" timestamptz NOT NULL, "person_id" character varying NOT NULL, PRIMARY KEY ("id"), CONSTRAINT "person_sessions_people_person" FOREIGN KEY ("person_id") REFERENCES "people" ("id") ON UPDATE NO ACTION ON DELETE CASCADE);
-- create index "person_sessions_mac_key" to table: "person_sessions"
CREATE UNIQUE INDEX "person_sessions_mac_key" ON "person_sessions" ("mac");
-- create index "personsession_ends_at" to table: "person_sessions"
CREATE INDEX "personsession_ends_at" ON "person_sessions" ("ends_at");
-- create index "personsession_person_id" to table: "person_sessions"
CREATE INDEX "personsession_person_id" ON "person_sessions" ("person_id");
-- create "recovery_codes" table
CREATE TABLE "recovery_codes" ("id" character varying NOT NULL, "mac" bytea NOT NULL, "used_at" timestamptz NULL, "person_id" character varying NOT NULL, PRIMARY KEY ("id"), CONSTRAINT "recovery_codes_people_person" FOREIGN KEY ("person_id") REFERENCES "people" ("id") ON UPDATE NO ACTION ON DELETE CASCADE);
-- create index "recoverycode_person_id" to table: "recovery_codes"
CREATE INDEX "recoverycode_person_id" ON "recovery_codes" ("person_id");
-- create "audit_entries" table
CREATE TABLE "audit_entries" ("id" character varying NOT NULL, "property_id" character varying NOT NULL, "seq" bigint NOT NULL, "at" timestamptz NOT NULL, "actor" character varying NOT NULL, "action" character varying NOT NULL, "subjects" jsonb NOT NULL, "from_address" character varying NOT NULL DEFAULT '', "reason" character varying NOT NULL DEFAULT '', "outcome" character varying NOT NULL, "previous" bytea NOT NULL, "hash" bytea NOT NULL, PRIMARY KEY ("id"));
-- create index "auditentry_at" to table: "audit_entries"
CREATE INDEX "auditentry_at" ON "audit_entries" ("at");
-- create index "auditentry_property_id_seq" to table: "audit_entries"
CREATE UNIQUE INDEX "auditentry_property_id_seq" ON "audit_entries" ("property_id", "seq");
-- create "audit_heads" table
CREATE TABLE "audit_heads" ("id" character varying NOT NULL, "seq" bigint NOT NULL, "hash" bytea NOT NULL, "cut" bigint NOT NULL DEFAULT 0, "cut_hash" bytea NOT NULL, "mac" bytea NOT NULL, "property_id" character varying NOT NULL, PRIMARY KEY ("id"), CONSTRAINT "audit_heads_properties_property" FOREIGN KEY ("property_id") REFERENCES "properties" ("id") ON UPDATE NO ACTION ON DELETE NO ACTION);
-- create index "audithead_property_id" to table: "audit_heads"
CREATE INDEX "audithead_property_id" ON "audit_heads" ("property_id");
-- create index "event_property_id_position" to table: "events"
CREATE INDEX "event_property_id_position" ON "events" ("property_id", "position") WHERE ("position" > 0);
-- create "webhooks" table
CREATE TABLE "webhooks" ("id" character varying NOT NULL, "property_id" character varying NOT NULL, "url" character varying NOT NULL, "kinds" jsonb NOT NULL, "secret" bytea NOT NULL, "previous_secret" bytea NULL, "previous_until" timestamptz NULL, "disabled_at" timestamptz NULL, "disabled_reason" character varying NOT NULL DEFAULT '', "failures" bigint NOT NULL DEFAULT 0, "last_success_at" timestamptz NULL, "last_failure_at" timestamptz NULL, "last_error" character varying NOT NULL DEFAULT '', "given_up" bigint NOT NULL DEFAULT 0, "given_up_at" timestamptz NULL, "drained_by" bigint NOT NULL DEFAULT 0, "drained_until" timestamptz NULL, "created_at" timestamptz NOT NULL, "integration_id" character varying NOT NULL, PRIMARY KEY ("id"), CONSTRAINT "webhooks_integrations_integration" FOREIGN KEY ("integration_id") REFERENCES "integrations" ("id") ON UPDATE NO ACTION ON DELETE CASCADE);
-- create index "webhook_integration_id" to table: "webhooks"
CREATE INDEX "webhook_integration_id" ON "webhooks" ("integration_id");
-- create index "webhook_property_id" to table: "webhooks"
CREATE INDEX "webhook_property_id" ON "webhooks" ("property_id");
-- modify "event_cursors" table
ALTER TABLE "event_cursors" ADD COLUMN "webhook_id" character varying NULL, ADD CONSTRAINT "event_cursors_webhooks_webhook" FOREIGN KEY ("webhook_id") REFERENCES "webhooks" ("id") ON UPDATE NO ACTION ON DELETE CASCADE;
-- create index "eventcursor_webhook_id_retry_at" to table: "event_cursors"
CREATE INDEX "eventcursor_webhook_id_retry_at" ON "event_cursors" ("webhook_id", "retry_at");
