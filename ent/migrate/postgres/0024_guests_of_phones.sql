-- modify "phone_links" table
ALTER TABLE "phone_links" ADD COLUMN "guest_id" character varying NULL;
-- modify "phones" table
ALTER TABLE "phones" ADD COLUMN "guest_id" character varying NULL;
