-- create "key_sets" table
CREATE TABLE "key_sets" ("id" character varying NOT NULL, "property_id" character varying NOT NULL, "version" bigint NOT NULL, "signed" bytea NOT NULL, "created_at" timestamptz NOT NULL, PRIMARY KEY ("id"));
-- create index "keyset_property_id_version" to table: "key_sets"
CREATE UNIQUE INDEX "keyset_property_id_version" ON "key_sets" ("property_id", "version");
-- create "key_statuses" table
CREATE TABLE "key_statuses" ("id" character varying NOT NULL, "property_id" character varying NOT NULL, "number" bigint NOT NULL, "phone_id" character varying NOT NULL, "grant_id" character varying NOT NULL, "key_generation" bigint NOT NULL, "lock_ids" jsonb NOT NULL, "since" timestamptz NOT NULL, "ends_at" timestamptz NOT NULL, "revoked_at" timestamptz NULL, "generation" bigint NOT NULL DEFAULT 0, "key_set_version" bigint NOT NULL DEFAULT 0, "list_number" bigint NOT NULL DEFAULT 0, "revoked_list" bigint NOT NULL DEFAULT 0, "checked_ids" jsonb NULL, "opened_ids" jsonb NULL, PRIMARY KEY ("id"));
-- create index "keystatus_ends_at" to table: "key_statuses"
CREATE INDEX "keystatus_ends_at" ON "key_statuses" ("ends_at");
-- create index "keystatus_grant_id" to table: "key_statuses"
CREATE INDEX "keystatus_grant_id" ON "key_statuses" ("grant_id");
-- create index "keystatus_phone_id" to table: "key_statuses"
CREATE INDEX "keystatus_phone_id" ON "key_statuses" ("phone_id");
-- create index "keystatus_property_id_number" to table: "key_statuses"
CREATE UNIQUE INDEX "keystatus_property_id_number" ON "key_statuses" ("property_id", "number");
-- create "arrivals" table
CREATE TABLE "arrivals" ("id" character varying NOT NULL, "property_id" character varying NOT NULL, "from_at" timestamptz NOT NULL, "minutes" bigint NOT NULL, "verdict" character varying NOT NULL, "judged_at" timestamptz NOT NULL, "again_at" timestamptz NULL, PRIMARY KEY ("id"));
-- create index "arrival_again_at" to table: "arrivals"
CREATE INDEX "arrival_again_at" ON "arrivals" ("again_at") WHERE (again_at IS NOT NULL);
-- create index "arrival_property_id" to table: "arrivals"
CREATE INDEX "arrival_property_id" ON "arrivals" ("property_id");
-- create "bridges" table
CREATE TABLE "bridges" ("id" character varying NOT NULL, "property_id" character varying NOT NULL, "name" character varying NOT NULL, "join_mac" bytea NULL, "join_expires_at" timestamptz NULL, "enrolled_at" timestamptz NULL, "revoked_at" timestamptz NULL, "hpke_key" bytea NULL, "certificate_key" bytea NULL, "previous_key" bytea NULL, "certificate_expires_at" timestamptz NULL, "epoch" bigint NOT NULL DEFAULT 0, "boot_id" character varying NOT NULL DEFAULT '', "software" character varying NOT NULL DEFAULT '', "online" boolean NOT NULL DEFAULT false, "node" character varying NOT NULL DEFAULT '', "offline_reason" character varying NOT NULL DEFAULT 'neverConnected', "last_seen_at" timestamptz NULL, "clock_offset_ms" bigint NOT NULL DEFAULT 0, "event_sequence" bigint NOT NULL DEFAULT 0, "key_set_version" bigint NULL, "key_list_number" bigint NOT NULL DEFAULT 0, "link_at" timestamptz NULL, "unreached_at" timestamptz NULL, "reached_at" timestamptz NULL, "offline_told_at" timestamptz NULL, "created_at" timestamptz NOT NULL, PRIMARY KEY ("id"));
-- create index "bridge_property_id_id" to table: "bridges"
CREATE INDEX "bridge_property_id_id" ON "bridges" ("property_id", "id");
-- create index "bridge_unreached_at" to table: "bridges"
CREATE INDEX "bridge_unreached_at" ON "bridges" ("unreached_at") WHERE (unreached_at IS NOT NULL);
-- create index "bridges_join_mac_key" to table: "bridges"
CREATE UNIQUE INDEX "bridges_join_mac_key" ON "bridges" ("join_mac");
-- create "codes" table
CREATE TABLE "codes" ("id" character varying NOT NULL, "property_id" character varying NOT NULL, "kind" character varying NOT NULL, "holder" character varying NOT NULL DEFAULT '', "lock_id" character varying NOT NULL DEFAULT '', "doors" jsonb NOT NULL, "all_rooms" boolean NOT NULL DEFAULT false, "hours" jsonb NOT NULL, "not_before" timestamptz NOT NULL, "not_after" timestamptz NULL, "redraws" bigint NOT NULL DEFAULT 0, "used_at" timestamptz NULL, "revoked_at" timestamptz NULL, "end_reason" character varying NOT NULL DEFAULT '', "ended_at" timestamptz NULL, "released_at" timestamptz NULL, "next_at" timestamptz NULL, "created_by" character varying NOT NULL DEFAULT '', "read_at" timestamptz NULL, "read_by" character varying NOT NULL DEFAULT '', "created_at" timestamptz NOT NULL, PRIMARY KEY ("id"));
-- create index "code_lock_id" to table: "codes"
CREATE INDEX "code_lock_id" ON "codes" ("lock_id") WHERE ((lock_id)::text <> ''::text);
-- create index "code_next_at" to table: "codes"
CREATE INDEX "code_next_at" ON "codes" ("next_at") WHERE (next_at IS NOT NULL);
-- create index "code_property_id_ended_at" to table: "codes"
CREATE INDEX "code_property_id_ended_at" ON "codes" ("property_id", "ended_at");
-- create "conflicts" table
CREATE TABLE "conflicts" ("id" character varying NOT NULL, "property_id" character varying NOT NULL, "integration_id" character varying NOT NULL, "kind" character varying NOT NULL, "external_id" character varying NOT NULL, "detail" character varying NOT NULL DEFAULT '', "reservation_ids" jsonb NOT NULL, "opened_at" timestamptz NOT NULL, "closed_at" timestamptz NULL, "open_key" character varying NULL, PRIMARY KEY ("id"));
-- create index "conflict_integration_id_closed_at" to table: "conflicts"
CREATE INDEX "conflict_integration_id_closed_at" ON "conflicts" ("integration_id", "closed_at");
-- create index "conflict_property_id_closed_at" to table: "conflicts"
CREATE INDEX "conflict_property_id_closed_at" ON "conflicts" ("property_id", "closed_at");
-- create index "conflicts_open_key_key" to table: "conflicts"
CREATE UNIQUE INDEX "conflicts_open_key_key" ON "conflicts" ("open_key");
-- create "door_rules" table
CREATE TABLE "door_rules" ("id" character varying NOT NULL, "property_id" character varying NOT NULL, "floor" bigint NOT NULL DEFAULT 0, "list_age_seconds" bigint NOT NULL DEFAULT 0, "created_at" timestamptz NOT NULL, PRIMARY KEY ("id"));
-- create index "doorrule_property_id" to table: "door_rules"
CREATE INDEX "doorrule_property_id" ON "door_rules" ("property_id");
-- create "endpoints" table
CREATE TABLE "endpoints" ("id" character varying NOT NULL, "property_id" character varying NOT NULL, "integration_id" character varying NOT NULL, "action" character varying NOT NULL, "url" character varying NOT NULL, "method" character varying NOT NULL, "sealed_token" bytea NOT NULL, "token_place" character varying NOT NULL, "failures" bigint NOT NULL DEFAULT 0, "last_success_at" timestamptz NULL, "last_failure_at" timestamptz NULL, "last_error" character varying NOT NULL DEFAULT '', "created_at" timestamptz NOT NULL, PRIMARY KEY ("id"));
-- create index "endpoint_integration_id_action" to table: "endpoints"
CREATE UNIQUE INDEX "endpoint_integration_id_action" ON "endpoints" ("integration_id", "action");
-- create "events" table
CREATE TABLE "events" ("id" bigint NOT NULL GENERATED BY DEFAULT AS IDENTITY, "property_id" character varying NOT NULL, "subject" character varying NOT NULL, "subject_sequence" bigint NOT NULL, "kind" character varying NOT NULL, "body" jsonb NOT NULL, "grant_id" character varying NULL, "occurred_at" timestamptz NOT NULL, "dispatched_at" timestamptz NULL, "created_at" timestamptz NOT NULL, PRIMARY KEY ("id"));
-- create index "event_grant_id_id" to table: "events"
CREATE INDEX "event_grant_id_id" ON "events" ("grant_id", "id") WHERE (grant_id IS NOT NULL);
-- create index "event_id" to table: "events"
CREATE INDEX "event_id" ON "events" ("id") WHERE (dispatched_at IS NULL);
-- create index "event_property_id_id" to table: "events"
CREATE INDEX "event_property_id_id" ON "events" ("property_id", "id");
-- create index "event_subject_subject_sequence" to table: "events"
CREATE UNIQUE INDEX "event_subject_subject_sequence" ON "events" ("subject", "subject_sequence");
-- create "gates" table
CREATE TABLE "gates" ("id" character varying NOT NULL, "property_id" character varying NOT NULL, "name" character varying NOT NULL, "floor" character varying NOT NULL DEFAULT '', "space_ids" jsonb NOT NULL, "created_at" timestamptz NOT NULL, PRIMARY KEY ("id"));
-- create index "gate_property_id_name" to table: "gates"
CREATE INDEX "gate_property_id_name" ON "gates" ("property_id", "name");
-- create "grants" table
CREATE TABLE "grants" ("id" character varying NOT NULL, "property_id" character varying NOT NULL, "reservation_id" character varying NOT NULL, "space_id" character varying NOT NULL DEFAULT '', "placed_at" timestamptz NOT NULL, "from_space_id" character varying NOT NULL DEFAULT '', "not_before" timestamptz NOT NULL, "not_after" timestamptz NOT NULL, "pin_id" character varying NOT NULL DEFAULT '', "redraws" bigint NOT NULL DEFAULT 0, "key_generation" bigint NOT NULL DEFAULT 1, "keyed" boolean NOT NULL DEFAULT false, "ended_at" timestamptz NULL, "end_reason" character varying NOT NULL DEFAULT '', "open_key" character varying NULL, "released_at" timestamptz NULL, "created_at" timestamptz NOT NULL, PRIMARY KEY ("id"));
-- create index "grant_property_id_ended_at" to table: "grants"
CREATE INDEX "grant_property_id_ended_at" ON "grants" ("property_id", "ended_at");
-- create index "grant_reservation_id" to table: "grants"
CREATE INDEX "grant_reservation_id" ON "grants" ("reservation_id");
-- create index "grant_space_id_ended_at" to table: "grants"
CREATE INDEX "grant_space_id_ended_at" ON "grants" ("space_id", "ended_at");
-- create index "grants_open_key_key" to table: "grants"
CREATE UNIQUE INDEX "grants_open_key_key" ON "grants" ("open_key");
-- create "guesses" table
CREATE TABLE "guesses" ("id" character varying NOT NULL, "property_id" character varying NOT NULL, "began_at" timestamptz NOT NULL, "count" bigint NOT NULL DEFAULT 0, "before" bigint NOT NULL DEFAULT 0, "alarmed_at" timestamptz NULL, PRIMARY KEY ("id"));
-- create index "guesses_property_id" to table: "guesses"
CREATE INDEX "guesses_property_id" ON "guesses" ("property_id");
-- create "idempotency_keys" table
CREATE TABLE "idempotency_keys" ("id" bigint NOT NULL GENERATED BY DEFAULT AS IDENTITY, "holder" character varying NOT NULL, "method" character varying NOT NULL, "key" character varying NOT NULL, "request_hash" bytea NOT NULL, "answer" bytea NOT NULL, "property_id" character varying NOT NULL DEFAULT '', "expires_at" timestamptz NOT NULL, "created_at" timestamptz NOT NULL, PRIMARY KEY ("id"));
-- create index "idempotency_expires_at" to table: "idempotency_keys"
CREATE INDEX "idempotency_expires_at" ON "idempotency_keys" ("expires_at");
-- create index "idempotency_holder_method_key" to table: "idempotency_keys"
CREATE UNIQUE INDEX "idempotency_holder_method_key" ON "idempotency_keys" ("holder", "method", "key");
-- create "integrations" table
CREATE TABLE "integrations" ("id" character varying NOT NULL, "property_id" character varying NOT NULL, "app_id" character varying NULL, "name" character varying NOT NULL, "scopes" jsonb NOT NULL, "signing_secret" bytea NULL, "previous_signing_secret" bytea NULL, "spaces_read_at" timestamptz NULL, "spaces_tried_at" timestamptz NULL, "spaces_failures" bigint NOT NULL DEFAULT 0, "disabled_at" timestamptz NULL, "created_at" timestamptz NOT NULL, PRIMARY KEY ("id"));
-- create index "integration_property_id_app_id" to table: "integrations"
CREATE UNIQUE INDEX "integration_property_id_app_id" ON "integrations" ("property_id", "app_id");
-- create "issuers" table
CREATE TABLE "issuers" ("id" character varying NOT NULL, "generation" bigint NOT NULL DEFAULT 1, "next_number" bigint NOT NULL DEFAULT 0, "list_number" bigint NOT NULL DEFAULT 0, "list" bytea NULL, "list_key" character varying NOT NULL DEFAULT '', "list_digest" bytea NULL, "list_at" timestamptz NOT NULL, "key_set_version" bigint NOT NULL DEFAULT 0, "key_set_at" timestamptz NOT NULL, "least_version" bigint NOT NULL DEFAULT 0, "created_at" timestamptz NOT NULL, PRIMARY KEY ("id"));
-- create "issuer_keys" table
CREATE TABLE "issuer_keys" ("id" character varying NOT NULL, "property_id" character varying NOT NULL, "key_id" character varying NOT NULL, "sealed" bytea NULL, "created_at" timestamptz NOT NULL, PRIMARY KEY ("id"));
-- create index "issuerkey_property_id_key_id" to table: "issuer_keys"
CREATE UNIQUE INDEX "issuerkey_property_id_key_id" ON "issuer_keys" ("property_id", "key_id");
-- create "apps" table
CREATE TABLE "apps" ("id" character varying NOT NULL, "name" character varying NOT NULL, "created_at" timestamptz NOT NULL, PRIMARY KEY ("id"));
-- create index "apps_name_key" to table: "apps"
CREATE UNIQUE INDEX "apps_name_key" ON "apps" ("name");
-- create "acts" table
CREATE TABLE "acts" ("id" character varying NOT NULL, "property_id" character varying NOT NULL, "lock_id" character varying NOT NULL, "operation" character varying NOT NULL, "actor" character varying NOT NULL, "grant_id" character varying NOT NULL DEFAULT '', "state" character varying NOT NULL, "result" character varying NOT NULL DEFAULT '', "deadline" timestamptz NOT NULL, "finished_at" timestamptz NULL, "created_at" timestamptz NOT NULL, PRIMARY KEY ("id"));
-- create index "act_lock_id_created_at" to table: "acts"
CREATE INDEX "act_lock_id_created_at" ON "acts" ("lock_id", "created_at");
-- create index "act_property_id_created_at" to table: "acts"
CREATE INDEX "act_property_id_created_at" ON "acts" ("property_id", "created_at");
-- create index "act_state_deadline" to table: "acts"
CREATE INDEX "act_state_deadline" ON "acts" ("state", "deadline");
-- create "locks" table
CREATE TABLE "locks" ("id" character varying NOT NULL, "property_id" character varying NOT NULL, "name" character varying NOT NULL, "named" boolean NOT NULL DEFAULT false, "kind" character varying NOT NULL DEFAULT 'lock', "bridge_id" character varying NOT NULL, "address" character varying NOT NULL, "model" character varying NOT NULL DEFAULT '', "door_id" character varying NULL, "door_since" timestamptz NULL, "capabilities" jsonb NOT NULL, "status" jsonb NOT NULL, "generation" bigint NOT NULL DEFAULT 0, "unreached_at" timestamptz NULL, "reached_at" timestamptz NULL, "offline_told_at" timestamptz NULL, "battery_told_at" timestamptz NULL, "clock_told_at" timestamptz NULL, "created_at" timestamptz NOT NULL, PRIMARY KEY ("id"));
-- create index "lock_bridge_id_address" to table: "locks"
CREATE UNIQUE INDEX "lock_bridge_id_address" ON "locks" ("bridge_id", "address");
-- create index "lock_offline_told_at" to table: "locks"
CREATE INDEX "lock_offline_told_at" ON "locks" ("offline_told_at") WHERE (offline_told_at IS NOT NULL);
-- create index "lock_property_id_id" to table: "locks"
CREATE INDEX "lock_property_id_id" ON "locks" ("property_id", "id");
-- create index "lock_unreached_at" to table: "locks"
CREATE INDEX "lock_unreached_at" ON "locks" ("unreached_at") WHERE (unreached_at IS NOT NULL);
-- create index "locks_door_id_key" to table: "locks"
CREATE UNIQUE INDEX "locks_door_id_key" ON "locks" ("door_id");
-- create "mappings" table
CREATE TABLE "mappings" ("id" bigint NOT NULL GENERATED BY DEFAULT AS IDENTITY, "property_id" character varying NOT NULL, "integration_id" character varying NOT NULL, "external_id" character varying NOT NULL, "space_id" character varying NOT NULL, "name" character varying NOT NULL, "type" character varying NOT NULL, "created_at" timestamptz NOT NULL, PRIMARY KEY ("id"));
-- create index "mapping_integration_id_external_id" to table: "mappings"
CREATE UNIQUE INDEX "mapping_integration_id_external_id" ON "mappings" ("integration_id", "external_id");
-- create index "mapping_integration_id_space_id" to table: "mappings"
CREATE UNIQUE INDEX "mapping_integration_id_space_id" ON "mappings" ("integration_id", "space_id");
-- create index "mapping_space_id" to table: "mappings"
CREATE INDEX "mapping_space_id" ON "mappings" ("space_id");
-- create "nodes" table
CREATE TABLE "nodes" ("id" character varying NOT NULL, "seen_at" timestamptz NOT NULL, "clock_ahead_ms" bigint NOT NULL, "created_at" timestamptz NOT NULL, PRIMARY KEY ("id"));
-- create "notices" table
CREATE TABLE "notices" ("id" character varying NOT NULL, "property_id" character varying NOT NULL, "kind" character varying NOT NULL, "subject" character varying NOT NULL, "text" character varying NOT NULL, "once_key" character varying NULL, "read_at" timestamptz NULL, "created_at" timestamptz NOT NULL, PRIMARY KEY ("id"));
-- create index "notice_property_id_created_at" to table: "notices"
CREATE INDEX "notice_property_id_created_at" ON "notices" ("property_id", "created_at");
-- create index "notices_once_key_key" to table: "notices"
CREATE UNIQUE INDEX "notices_once_key_key" ON "notices" ("once_key");
-- create "partner_spaces" table
CREATE TABLE "partner_spaces" ("id" bigint NOT NULL GENERATED BY DEFAULT AS IDENTITY, "property_id" character varying NOT NULL, "integration_id" character varying NOT NULL, "external_id" character varying NOT NULL, "type" character varying NOT NULL, "name" character varying NOT NULL, "parent_external_id" character varying NOT NULL DEFAULT '', "floor" character varying NOT NULL DEFAULT '', "is_private" boolean NOT NULL, "is_active" boolean NOT NULL, "gone_at" timestamptz NULL, "seen_at" timestamptz NOT NULL, PRIMARY KEY ("id"));
-- create index "partnerspace_integration_id_external_id" to table: "partner_spaces"
CREATE UNIQUE INDEX "partnerspace_integration_id_external_id" ON "partner_spaces" ("integration_id", "external_id");
-- create "phones" table
CREATE TABLE "phones" ("id" character varying NOT NULL, "property_id" character varying NOT NULL, "reservation_id" character varying NOT NULL, "name" character varying NOT NULL DEFAULT '', "key" bytea NOT NULL, "key_id" character varying NOT NULL, "subject" character varying NOT NULL, "challenge_at" bigint NOT NULL DEFAULT 0, "token_expires_at" timestamptz NULL, "revoked_at" timestamptz NULL, "created_at" timestamptz NOT NULL, PRIMARY KEY ("id"));
-- create index "phone_property_id_key_id" to table: "phones"
CREATE INDEX "phone_property_id_key_id" ON "phones" ("property_id", "key_id");
-- create index "phone_property_id_reservation_id" to table: "phones"
CREATE INDEX "phone_property_id_reservation_id" ON "phones" ("property_id", "reservation_id");
-- create "phone_links" table
CREATE TABLE "phone_links" ("id" character varying NOT NULL, "property_id" character varying NOT NULL, "reservation_id" character varying NOT NULL, "mac" bytea NOT NULL, "expires_at" timestamptz NOT NULL, "used_at" timestamptz NULL, "created_at" timestamptz NOT NULL, PRIMARY KEY ("id"));
-- create index "phone_links_mac_key" to table: "phone_links"
CREATE UNIQUE INDEX "phone_links_mac_key" ON "phone_links" ("mac");
-- create index "phonelink_expires_at" to table: "phone_links"
CREATE INDEX "phonelink_expires_at" ON "phone_links" ("expires_at");
-- create index "phonelink_property_id_reservation_id" to table: "phone_links"
CREATE INDEX "phonelink_property_id_reservation_id" ON "phone_links" ("property_id", "reservation_id");
-- create "pins" table
CREATE TABLE "pins" ("id" character varying NOT NULL, "property_id" character varying NOT NULL, "grant_id" character varying NOT NULL, "door_id" character varying NOT NULL DEFAULT '', "mac" bytea NOT NULL, "sealed" bytea NOT NULL, "retired" boolean NOT NULL DEFAULT false, "created_at" timestamptz NOT NULL, PRIMARY KEY ("id"));
-- create index "pin_grant_id" to table: "pins"
CREATE INDEX "pin_grant_id" ON "pins" ("grant_id");
-- create index "pin_property_id_mac" to table: "pins"
CREATE UNIQUE INDEX "pin_property_id_mac" ON "pins" ("property_id", "mac");
-- create "properties" table
CREATE TABLE "properties" ("id" character varying NOT NULL, "name" character varying NOT NULL, "time_zone" character varying NOT NULL, "check_in_time" character varying NOT NULL DEFAULT '15:00', "check_out_time" character varying NOT NULL DEFAULT '11:00', "early_in_minutes" bigint NOT NULL DEFAULT 0, "late_out_minutes" bigint NOT NULL DEFAULT 0, "pin_length" bigint NOT NULL DEFAULT 0, "gates_alone" boolean NOT NULL DEFAULT false, "backup_codes" boolean NOT NULL DEFAULT false, "owing_policy" character varying NOT NULL DEFAULT 'block', "owing_threshold_minor" bigint NOT NULL DEFAULT 0, "created_at" timestamptz NOT NULL, PRIMARY KEY ("id"));
-- create index "property_name" to table: "properties"
CREATE INDEX "property_name" ON "properties" ("name");
-- create "property_keys" table
CREATE TABLE "property_keys" ("id" character varying NOT NULL, "sealed" bytea NOT NULL, "created_at" timestamptz NOT NULL, PRIMARY KEY ("id"));
-- create "reservations" table
CREATE TABLE "reservations" ("id" character varying NOT NULL, "property_id" character varying NOT NULL, "integration_id" character varying NOT NULL, "pms_id" character varying NOT NULL, "pms_group_id" character varying NULL, "pms_space_id" character varying NULL, "pms_parent_space_id" character varying NULL, "pms_companion_ids" jsonb NULL, "pms_updated_at" timestamptz NULL, "pms_number" character varying NOT NULL, "booker" bytea NOT NULL, "state" character varying NOT NULL, "from_date" character varying NULL, "to_date" character varying NULL, "from_at" timestamptz NOT NULL, "to_at" timestamptz NOT NULL, "adult_count" bigint NULL, "child_count" bigint NULL, "price_minor" bigint NULL, "owing_minor" bigint NULL, "owing_currency" character varying NULL, "source_name" character varying NULL, "channel_manager" character varying NULL, "channel_number" character varying NULL, "own_space_id" character varying NULL, "space_key" character varying NOT NULL DEFAULT '', "created_at" timestamptz NOT NULL, "updated_at" timestamptz NOT NULL, "plan_due_at" timestamptz NULL, PRIMARY KEY ("id"));
-- create index "reservation_from_at_property_id" to table: "reservations"
CREATE INDEX "reservation_from_at_property_id" ON "reservations" ("from_at", "property_id");
-- create index "reservation_integration_id_pms_id" to table: "reservations"
CREATE UNIQUE INDEX "reservation_integration_id_pms_id" ON "reservations" ("integration_id", "pms_id");
-- create index "reservation_plan_due_at" to table: "reservations"
CREATE INDEX "reservation_plan_due_at" ON "reservations" ("plan_due_at") WHERE (plan_due_at IS NOT NULL);
-- create index "reservation_property_id_pms_number" to table: "reservations"
CREATE INDEX "reservation_property_id_pms_number" ON "reservations" ("property_id", "pms_number");
-- create index "reservation_property_id_state" to table: "reservations"
CREATE INDEX "reservation_property_id_state" ON "reservations" ("property_id", "state") WHERE ((state)::text = 'started'::text);
-- create "reservation_changes" table
CREATE TABLE "reservation_changes" ("id" bigint NOT NULL GENERATED BY DEFAULT AS IDENTITY, "property_id" character varying NOT NULL, "integration_id" character varying NOT NULL, "reservation_id" character varying NOT NULL, "changed_at" timestamptz NOT NULL, PRIMARY KEY ("id"));
-- create index "reservationchange_place" to table: "reservation_changes"
CREATE UNIQUE INDEX "reservationchange_place" ON "reservation_changes" ("property_id", "changed_at", "reservation_id", "integration_id");
-- create "tokens" table
CREATE TABLE "tokens" ("id" character varying NOT NULL, "kind" character varying NOT NULL, "mac" bytea NOT NULL, "hint" character varying NOT NULL, "name" character varying NOT NULL DEFAULT '', "property_id" character varying NOT NULL DEFAULT '', "integration_id" character varying NOT NULL DEFAULT '', "app_id" character varying NOT NULL DEFAULT '', "role" character varying NOT NULL DEFAULT '', "expires_at" timestamptz NULL, "revoked_at" timestamptz NULL, "created_at" timestamptz NOT NULL, PRIMARY KEY ("id"));
-- create index "token_app_id_kind" to table: "tokens"
CREATE INDEX "token_app_id_kind" ON "tokens" ("app_id", "kind");
-- create index "token_integration_id_kind" to table: "tokens"
CREATE INDEX "token_integration_id_kind" ON "tokens" ("integration_id", "kind");
-- create index "token_property_id_kind" to table: "tokens"
CREATE INDEX "token_property_id_kind" ON "tokens" ("property_id", "kind");
-- create index "tokens_mac_key" to table: "tokens"
CREATE UNIQUE INDEX "tokens_mac_key" ON "tokens" ("mac");
-- create "secrets" table
CREATE TABLE "secrets" ("id" character varying NOT NULL, "sealed" bytea NOT NULL, "created_at" timestamptz NOT NULL, PRIMARY KEY ("id"));
-- create "slots" table
CREATE TABLE "slots" ("id" character varying NOT NULL, "property_id" character varying NOT NULL, "lock_id" character varying NOT NULL, "number" bigint NOT NULL, "generation" bigint NOT NULL, "present" boolean NOT NULL, "grant_id" character varying NOT NULL DEFAULT '', "since" bigint NOT NULL DEFAULT 0, "pin_id" character varying NOT NULL DEFAULT '', "door_id" character varying NOT NULL DEFAULT '', "stay_space_id" character varying NOT NULL DEFAULT '', "pin" bytea NULL, "not_before" timestamptz NULL, "not_after" timestamptz NULL, "later" jsonb NULL, "once" character varying NOT NULL DEFAULT '', "claimant" character varying NOT NULL DEFAULT '', "inherited" boolean NOT NULL DEFAULT false, "former" boolean NOT NULL DEFAULT false, "foreign" boolean NOT NULL DEFAULT false, "evidence" character varying NOT NULL, "result" character varying NOT NULL DEFAULT '', "rule" character varying NOT NULL DEFAULT '', "seen_generation" bigint NOT NULL DEFAULT 0, "seen_present" boolean NOT NULL DEFAULT false, "seen_evidence" character varying NOT NULL DEFAULT '', "seen_result" character varying NOT NULL DEFAULT '', "seen_window" bigint NOT NULL DEFAULT 0, "seen_used" boolean NOT NULL DEFAULT false, "seen_cleared" boolean NOT NULL DEFAULT false, "seen_at" timestamptz NULL, "used_at" timestamptz NULL, "changed_at" timestamptz NOT NULL, PRIMARY KEY ("id"));
-- create index "slot_grant_id" to table: "slots"
CREATE INDEX "slot_grant_id" ON "slots" ("grant_id");
-- create index "slot_lock_id_number" to table: "slots"
CREATE UNIQUE INDEX "slot_lock_id_number" ON "slots" ("lock_id", "number");
-- create index "slot_property_id" to table: "slots"
CREATE INDEX "slot_property_id" ON "slots" ("property_id");
-- create "spaces" table
CREATE TABLE "spaces" ("id" character varying NOT NULL, "property_id" character varying NOT NULL, "type" character varying NOT NULL, "name" character varying NOT NULL, "floor" character varying NOT NULL DEFAULT '', "parent_id" character varying NOT NULL DEFAULT '', "is_private" boolean NOT NULL, "is_active" boolean NOT NULL DEFAULT true, "created_at" timestamptz NOT NULL, PRIMARY KEY ("id"));
-- create index "space_property_id_name" to table: "spaces"
CREATE INDEX "space_property_id_name" ON "spaces" ("property_id", "name");
-- create index "space_property_id_parent_id" to table: "spaces"
CREATE INDEX "space_property_id_parent_id" ON "spaces" ("property_id", "parent_id");
-- create "reservation_names" table
CREATE TABLE "reservation_names" ("id" bigint NOT NULL GENERATED BY DEFAULT AS IDENTITY, "property_id" character varying NOT NULL, "token" bytea NOT NULL, "reservation_id" character varying NOT NULL, PRIMARY KEY ("id"), CONSTRAINT "reservation_names_reservations_names" FOREIGN KEY ("reservation_id") REFERENCES "reservations" ("id") ON UPDATE NO ACTION ON DELETE CASCADE);
-- create index "reservationname_reservation_id" to table: "reservation_names"
CREATE INDEX "reservationname_reservation_id" ON "reservation_names" ("reservation_id");
-- create index "reservationname_token" to table: "reservation_names"
CREATE INDEX "reservationname_token" ON "reservation_names" ("token");
