-- Which matches were valid at a past moment: the counts of holders are stored by the last change before it.
CREATE INDEX past_matches_by_since ON past_matches (since);
CREATE INDEX past_matches_by_until ON past_matches (until);
