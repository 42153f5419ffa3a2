-- Add indexes that find people by the beginning of their e-mail address, by department and by a status other than
-- Active, accounts that are not matched, and accounts by their last login.
CREATE INDEX identities_by_email_beginning ON identities ((lower(email_address) COLLATE "C")) WHERE email_address <> '';
CREATE INDEX identities_by_department ON identities (lower(department), list_key) WHERE department <> '';
CREATE INDEX identities_left ON identities (status, list_key) WHERE status <> 'Active';
CREATE INDEX accounts_without_identity ON accounts (match) WHERE match IN ('Unmatched', 'Disputed');
CREATE INDEX account_versions_by_last_login ON account_versions (last_login) WHERE until_import IS NULL AND last_login <> '';
