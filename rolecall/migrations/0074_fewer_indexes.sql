-- Drop an index that is not needed: queries for accounts without a person find them by application, with
-- accounts_application_id_match_username_idx.
DROP INDEX accounts_without_identity;
