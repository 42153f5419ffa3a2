-- Find people by the beginning of their e-mail, by department and by having left.
CREATE INDEX identities_by_email_beginning ON identities ((lower(email_address) COLLATE "C")) WHERE email_address <> '';
CREATE INDEX identities_by_department ON identities (lower(department), list_key) WHERE department <> '';
CREATE INDEX identities_left ON identities (status, list_key) WHERE status <> 'Active';
