-- Store how an account was matched in the past; null if this was not recorded.
ALTER TABLE past_matches ADD COLUMN match text;
