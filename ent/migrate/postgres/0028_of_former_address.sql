-- modify "guest_sessions" table
ALTER TABLE "guest_sessions" ADD COLUMN "of_former_address" boolean NOT NULL DEFAULT false;
