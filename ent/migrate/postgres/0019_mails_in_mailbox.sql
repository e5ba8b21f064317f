-- create index "mail_property_id" to table: "mails"
CREATE INDEX "mail_property_id" ON "mails" ("property_id") WHERE ((state)::text = 'mailbox'::text);
