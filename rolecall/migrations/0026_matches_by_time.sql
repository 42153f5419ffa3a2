-- Add indexes that find the last change of matches before a past moment. Counts of holders at that moment are stored
-- under the time of this change.
CREATE INDEX past_matches_by_since ON past_matches (since);
CREATE INDEX past_matches_by_until ON past_matches (until);
