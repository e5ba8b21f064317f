-- create index "reservation_property_id_to_at" to table: "reservations"
CREATE INDEX `reservation_property_id_to_at` ON `reservations` (`property_id`, `to_at`) WHERE state = 'started' OR state = 'processed';
