-- drop index "idempotency_holder_method_key" from table: "idempotency_keys"
DROP INDEX `idempotency_holder_method_key`;
-- create index "idempotency_holder_method_key_property_id" to table: "idempotency_keys"
CREATE UNIQUE INDEX `idempotency_holder_method_key_property_id` ON `idempotency_keys` (`holder`, `method`, `key`, `property_id`);
