-- Store more of what was true when a review was opened: accounts that the scope excludes (Account), former names of
-- entitlements (Renamed), and identities that represent an unmatched account (Unknown).
ALTER TABLE review_scopes DROP CONSTRAINT kind_is_known,
    ADD CONSTRAINT kind_is_known CHECK (kind IN ('Account', 'Entitlement', 'Identity', 'Model', 'Renamed', 'Unknown'));
-- The date until which a bulk decision keeps the access.
ALTER TABLE review_bulks ADD COLUMN until timestamptz;
-- The date from which the dates of a template are counted, so that after a shorter month a review on the 31st is on the
-- 31st again.
ALTER TABLE review_templates ADD COLUMN first_on timestamptz;
UPDATE review_templates SET first_on = next_on;
ALTER TABLE review_templates ALTER COLUMN first_on SET NOT NULL;
-- Allow notifications about templates that cannot open a review, and about drafts that templates created.
ALTER TABLE notifications DROP CONSTRAINT item_kind_is_known;
ALTER TABLE notifications ADD CONSTRAINT item_kind_is_known
    CHECK (item_kind IN ('Access Request', 'Personnel Event', 'Import', 'Webhook', 'Channel', 'Exception', 'Report',
                         'Application', 'Stand-In', 'Duty Rule', 'Review', 'Review Template'));
