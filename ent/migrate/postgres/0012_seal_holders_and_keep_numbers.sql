-- commands of staff end with the events
CREATE INDEX "act_created_at" ON "acts" ("created_at") WHERE ((grant_id)::text = ''::text);
-- names of the holders of codes are sealed: a sweep of the server seals the readable ones
ALTER TABLE "codes" ADD COLUMN "sealed_holder" bytea NULL;
CREATE INDEX "code_released_at" ON "codes" ("released_at") WHERE (released_at IS NOT NULL);
-- numbers of deleted messages are not used again
ALTER TABLE "guests" ADD COLUMN "deleted_messages" bigint NOT NULL DEFAULT 0;
