-- modify "properties" table
ALTER TABLE "properties" ADD COLUMN "access_step_up" boolean NOT NULL DEFAULT true;
