-- modify "tokens" table
ALTER TABLE "tokens" ADD COLUMN "parent_id" character varying NULL;
-- create index "token_parent_id" to table: "tokens"
CREATE INDEX "token_parent_id" ON "tokens" ("parent_id");
