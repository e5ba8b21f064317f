-- drop index "act_state_deadline" from table: "acts"
DROP INDEX "act_state_deadline";
-- create index "act_deadline" to table: "acts"
CREATE INDEX "act_deadline" ON "acts" ("deadline") WHERE (finished_at IS NULL);
-- drop index "auditentry_at" from table: "audit_entries"
DROP INDEX "auditentry_at";
