-- The person who created a SCIM token, in the console or with an API token of theirs. Null for tokens that were created
-- with an API token without an owner, or before this version.
ALTER TABLE scim_tokens ADD COLUMN owner_id uuid;
