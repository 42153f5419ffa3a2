-- Whether a pushed user is active: a provider that leaves `active` out later does not activate a user that it disabled.
ALTER TABLE scim_resources ADD COLUMN is_active boolean NOT NULL DEFAULT true;
UPDATE scim_resources SET is_active = false WHERE resource -> 'active' = 'false';
ALTER TABLE scim_resources ALTER COLUMN is_active DROP DEFAULT;
