-- the texts of a property by language, and its own retention
ALTER TABLE "check_in_settings" ADD COLUMN "texts" jsonb NULL, ADD COLUMN "keep_stay_days" bigint NOT NULL DEFAULT 0, ADD COLUMN "message_days" bigint NOT NULL DEFAULT 0;
-- what mail servers answered, and what guests call their phones, are sealed from now on; the readable values are deleted
ALTER TABLE "mails" DROP COLUMN "answer", ADD COLUMN "reply" bytea NULL;
ALTER TABLE "phones" DROP COLUMN "name", ADD COLUMN "label" bytea NULL;
