-- Store whether a pushed user is active, because a provider that disabled a user may omit `active` later. This does not
-- activate the user.
ALTER TABLE scim_resources ADD COLUMN is_active boolean NOT NULL DEFAULT true;
UPDATE scim_resources SET is_active = false WHERE resource -> 'active' = 'false';
ALTER TABLE scim_resources ALTER COLUMN is_active DROP DEFAULT;
