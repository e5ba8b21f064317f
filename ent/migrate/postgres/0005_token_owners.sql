-- Tokens without a property, an integration or an app have NULL there. A token whose owner is missing gives access to nothing.
-- modify "tokens" table
ALTER TABLE "tokens" ALTER COLUMN "property_id" DROP NOT NULL, ALTER COLUMN "property_id" DROP DEFAULT, ALTER COLUMN "integration_id" DROP NOT NULL, ALTER COLUMN "integration_id" DROP DEFAULT, ALTER COLUMN "app_id" DROP NOT NULL, ALTER COLUMN "app_id" DROP DEFAULT;
UPDATE tokens SET property_id = nullif(property_id, ''), integration_id = nullif(integration_id, ''), app_id = nullif(app_id, '');
DELETE FROM tokens WHERE property_id <> '' AND NOT EXISTS (SELECT 1 FROM properties AS o WHERE o.id = tokens.property_id);
DELETE FROM tokens WHERE integration_id <> '' AND NOT EXISTS (SELECT 1 FROM integrations AS o WHERE o.id = tokens.integration_id);
DELETE FROM tokens WHERE app_id <> '' AND NOT EXISTS (SELECT 1 FROM apps AS o WHERE o.id = tokens.app_id);
ALTER TABLE "tokens" ADD CONSTRAINT "tokens_apps_app" FOREIGN KEY ("app_id") REFERENCES "apps" ("id") ON UPDATE NO ACTION ON DELETE CASCADE, ADD CONSTRAINT "tokens_integrations_integration" FOREIGN KEY ("integration_id") REFERENCES "integrations" ("id") ON UPDATE NO ACTION ON DELETE CASCADE, ADD CONSTRAINT "tokens_properties_property" FOREIGN KEY ("property_id") REFERENCES "properties" ("id") ON UPDATE NO ACTION ON DELETE CASCADE;
