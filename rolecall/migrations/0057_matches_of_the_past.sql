-- How an account was matched at a past moment; null where it was not recorded.
ALTER TABLE past_matches ADD COLUMN match text;
