-- Store whether a pushed user is active: if a provider that disabled a user omits `active` later, the user stays
-- disabled.
ALTER TABLE scim_resources ADD COLUMN is_active boolean NOT NULL DEFAULT true;
UPDATE scim_resources SET is_active = false WHERE resource -> 'active' = 'false';
ALTER TABLE scim_resources ALTER COLUMN is_active DROP DEFAULT;
