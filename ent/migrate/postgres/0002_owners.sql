-- Rows without an owner. The new keys refuse to delete some owners while they have rows. Such an owner is inserted again, in a
-- state that ends access: a lock may hold a code of the row, or a phone a token. Other rows without an owner are deleted.
-- numbers of the status list whose phone or grant is missing: revoke
UPDATE key_statuses SET revoked_at = now()
	WHERE revoked_at IS NULL AND (NOT EXISTS (SELECT 1 FROM phones AS o WHERE o.id = phone_id) OR NOT EXISTS (SELECT 1 FROM grants AS o WHERE o.id = grant_id));
-- phones of such numbers
INSERT INTO phones (id, property_id, reservation_id, name, "key", key_id, subject, revoked_at, created_at)
	SELECT k.phone_id, min(k.property_id), coalesce(min(g.reservation_id), 'rsv_' || substr(k.phone_id, 5)), 'Unknown phone', ''::bytea, '', '', now(), now()
	FROM key_statuses AS k LEFT JOIN grants AS g ON g.id = k.grant_id WHERE NOT EXISTS (SELECT 1 FROM phones AS o WHERE o.id = k.phone_id) GROUP BY k.phone_id;
-- grants of such numbers
INSERT INTO grants (id, property_id, reservation_id, placed_at, not_before, not_after, keyed, ended_at, end_reason, released_at, created_at)
	SELECT k.grant_id, min(k.property_id), min(p.reservation_id), now(), now(), now(), true, now(), 'reservationCanceled', now(), now()
	FROM key_statuses AS k JOIN phones AS p ON p.id = k.phone_id WHERE NOT EXISTS (SELECT 1 FROM grants AS o WHERE o.id = k.grant_id) GROUP BY k.grant_id;
-- reservations of grants and phones: canceled, to be planned at once
INSERT INTO reservations (id, property_id, integration_id, pms_id, pms_number, booker, state, from_at, to_at, created_at, updated_at, plan_due_at)
	SELECT c.reservation_id, min(c.property_id), coalesce((SELECT min(i.id) FROM integrations AS i WHERE i.property_id = min(c.property_id)), 'int_' || substr(c.reservation_id, 5)),
		c.reservation_id, c.reservation_id, ''::bytea, 'canceled', now(), now(), now(), now(), now()
	FROM (SELECT reservation_id, property_id FROM grants UNION SELECT reservation_id, property_id FROM phones) AS c
	WHERE NOT EXISTS (SELECT 1 FROM reservations AS o WHERE o.id = c.reservation_id) GROUP BY c.reservation_id;
-- integrations of reservations: disabled
INSERT INTO integrations (id, property_id, app_id, name, scopes, disabled_at, created_at)
	SELECT r.integration_id, min(r.property_id), 'app_' || substr(r.integration_id, 5), 'Unknown integration', '[]', now(), now()
	FROM reservations AS r WHERE NOT EXISTS (SELECT 1 FROM integrations AS o WHERE o.id = r.integration_id) GROUP BY r.integration_id;
-- apps of integrations
INSERT INTO apps (id, name, created_at)
	SELECT DISTINCT i.app_id, 'Unknown app ' || i.app_id, now() FROM integrations AS i WHERE i.app_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM apps AS o WHERE o.id = i.app_id);
-- locks of slots
INSERT INTO locks (id, property_id, name, bridge_id, address, capabilities, status, generation, created_at)
	SELECT s.lock_id, min(s.property_id), 'Unknown lock', 'brg_' || substr(s.lock_id, 5), s.lock_id, '{}', '{"online":false}', max(s.generation), now()
	FROM slots AS s WHERE NOT EXISTS (SELECT 1 FROM locks AS o WHERE o.id = s.lock_id) GROUP BY s.lock_id;
-- bridges of locks: never connected
INSERT INTO bridges (id, property_id, name, created_at)
	SELECT l.bridge_id, min(l.property_id), 'Unknown bridge', now() FROM locks AS l WHERE NOT EXISTS (SELECT 1 FROM bridges AS o WHERE o.id = l.bridge_id) GROUP BY l.bridge_id;
-- properties
INSERT INTO properties (id, name, time_zone, created_at)
	SELECT c.id, 'Unknown property', 'UTC', now() FROM (
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
-- modify "integrations" table
ALTER TABLE "integrations" ADD CONSTRAINT "integrations_apps_app" FOREIGN KEY ("app_id") REFERENCES "apps" ("id") ON UPDATE NO ACTION ON DELETE NO ACTION, ADD CONSTRAINT "integrations_properties_property" FOREIGN KEY ("property_id") REFERENCES "properties" ("id") ON UPDATE NO ACTION ON DELETE NO ACTION;
-- create index "integration_app_id" to table: "integrations"
CREATE INDEX "integration_app_id" ON "integrations" ("app_id");
-- modify "reservations" table
ALTER TABLE "reservations" ADD CONSTRAINT "reservations_integrations_integration" FOREIGN KEY ("integration_id") REFERENCES "integrations" ("id") ON UPDATE NO ACTION ON DELETE NO ACTION;
-- modify "arrivals" table
ALTER TABLE "arrivals" ADD CONSTRAINT "arrivals_reservations_id" FOREIGN KEY ("id") REFERENCES "reservations" ("id") ON UPDATE NO ACTION ON DELETE CASCADE;
-- modify "bridges" table
ALTER TABLE "bridges" ADD CONSTRAINT "bridges_properties_property" FOREIGN KEY ("property_id") REFERENCES "properties" ("id") ON UPDATE NO ACTION ON DELETE NO ACTION;
-- modify "codes" table
ALTER TABLE "codes" ADD CONSTRAINT "codes_properties_property" FOREIGN KEY ("property_id") REFERENCES "properties" ("id") ON UPDATE NO ACTION ON DELETE NO ACTION;
-- modify "conflicts" table
ALTER TABLE "conflicts" ADD CONSTRAINT "conflicts_integrations_integration" FOREIGN KEY ("integration_id") REFERENCES "integrations" ("id") ON UPDATE NO ACTION ON DELETE CASCADE;
-- modify "locks" table
ALTER TABLE "locks" ADD CONSTRAINT "locks_bridges_bridge" FOREIGN KEY ("bridge_id") REFERENCES "bridges" ("id") ON UPDATE NO ACTION ON DELETE NO ACTION;
-- modify "door_rules" table
ALTER TABLE "door_rules" ADD CONSTRAINT "door_rules_locks_id" FOREIGN KEY ("id") REFERENCES "locks" ("id") ON UPDATE NO ACTION ON DELETE CASCADE;
-- modify "endpoints" table
ALTER TABLE "endpoints" ADD CONSTRAINT "endpoints_integrations_integration" FOREIGN KEY ("integration_id") REFERENCES "integrations" ("id") ON UPDATE NO ACTION ON DELETE CASCADE;
-- modify "gates" table
ALTER TABLE "gates" ADD CONSTRAINT "gates_properties_property" FOREIGN KEY ("property_id") REFERENCES "properties" ("id") ON UPDATE NO ACTION ON DELETE NO ACTION;
-- modify "grants" table
ALTER TABLE "grants" ADD CONSTRAINT "grants_reservations_reservation" FOREIGN KEY ("reservation_id") REFERENCES "reservations" ("id") ON UPDATE NO ACTION ON DELETE NO ACTION;
-- modify "guesses" table
ALTER TABLE "guesses" ADD CONSTRAINT "guesses_properties_property" FOREIGN KEY ("property_id") REFERENCES "properties" ("id") ON UPDATE NO ACTION ON DELETE NO ACTION;
-- modify "issuers" table
ALTER TABLE "issuers" ADD CONSTRAINT "issuers_properties_id" FOREIGN KEY ("id") REFERENCES "properties" ("id") ON UPDATE NO ACTION ON DELETE NO ACTION;
-- modify "issuer_keys" table
ALTER TABLE "issuer_keys" ADD CONSTRAINT "issuer_keys_issuers_issuer" FOREIGN KEY ("property_id") REFERENCES "issuers" ("id") ON UPDATE NO ACTION ON DELETE CASCADE;
-- modify "key_sets" table
ALTER TABLE "key_sets" ADD CONSTRAINT "key_sets_issuers_issuer" FOREIGN KEY ("property_id") REFERENCES "issuers" ("id") ON UPDATE NO ACTION ON DELETE CASCADE;
-- drop index "phone_property_id_reservation_id" from table: "phones"
DROP INDEX "phone_property_id_reservation_id";
-- modify "phones" table
ALTER TABLE "phones" ADD CONSTRAINT "phones_reservations_reservation" FOREIGN KEY ("reservation_id") REFERENCES "reservations" ("id") ON UPDATE NO ACTION ON DELETE NO ACTION;
-- create index "phone_reservation_id" to table: "phones"
CREATE INDEX "phone_reservation_id" ON "phones" ("reservation_id");
-- modify "key_statuses" table
ALTER TABLE "key_statuses" ADD CONSTRAINT "key_statuses_grants_grant" FOREIGN KEY ("grant_id") REFERENCES "grants" ("id") ON UPDATE NO ACTION ON DELETE NO ACTION, ADD CONSTRAINT "key_statuses_phones_phone" FOREIGN KEY ("phone_id") REFERENCES "phones" ("id") ON UPDATE NO ACTION ON DELETE NO ACTION;
-- modify "spaces" table
ALTER TABLE "spaces" ADD CONSTRAINT "spaces_properties_property" FOREIGN KEY ("property_id") REFERENCES "properties" ("id") ON UPDATE NO ACTION ON DELETE NO ACTION;
-- modify "mappings" table
ALTER TABLE "mappings" ADD CONSTRAINT "mappings_integrations_integration" FOREIGN KEY ("integration_id") REFERENCES "integrations" ("id") ON UPDATE NO ACTION ON DELETE CASCADE, ADD CONSTRAINT "mappings_spaces_space" FOREIGN KEY ("space_id") REFERENCES "spaces" ("id") ON UPDATE NO ACTION ON DELETE NO ACTION;
-- modify "notices" table
ALTER TABLE "notices" ADD CONSTRAINT "notices_properties_property" FOREIGN KEY ("property_id") REFERENCES "properties" ("id") ON UPDATE NO ACTION ON DELETE NO ACTION;
-- modify "partner_spaces" table
ALTER TABLE "partner_spaces" ADD CONSTRAINT "partner_spaces_integrations_integration" FOREIGN KEY ("integration_id") REFERENCES "integrations" ("id") ON UPDATE NO ACTION ON DELETE CASCADE;
-- drop index "phonelink_property_id_reservation_id" from table: "phone_links"
DROP INDEX "phonelink_property_id_reservation_id";
-- modify "phone_links" table
ALTER TABLE "phone_links" ADD CONSTRAINT "phone_links_reservations_reservation" FOREIGN KEY ("reservation_id") REFERENCES "reservations" ("id") ON UPDATE NO ACTION ON DELETE CASCADE;
-- create index "phonelink_reservation_id" to table: "phone_links"
CREATE INDEX "phonelink_reservation_id" ON "phone_links" ("reservation_id");
-- modify "slots" table
ALTER TABLE "slots" ADD CONSTRAINT "slots_locks_lock" FOREIGN KEY ("lock_id") REFERENCES "locks" ("id") ON UPDATE NO ACTION ON DELETE NO ACTION;
