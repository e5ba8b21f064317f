-- modify "endpoints" table
ALTER TABLE "endpoints" ADD COLUMN "last_problem" jsonb NULL;
-- modify "webhooks" table
ALTER TABLE "webhooks" ADD COLUMN "last_problem" jsonb NULL;
