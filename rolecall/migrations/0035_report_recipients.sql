-- Add the recipients of scheduled reports. Allow notifications about reports, and about applications whose entitlements
-- a person owns in place of someone who left.
ALTER TABLE reports ADD recipient_ids uuid[] NOT NULL DEFAULT '{}';
ALTER TABLE notifications DROP CONSTRAINT item_kind_is_known;
ALTER TABLE notifications ADD CONSTRAINT item_kind_is_known
    CHECK (item_kind IN ('Access Request', 'Personnel Event', 'Import', 'Webhook', 'Channel', 'Exception', 'Report',
                         'Application'));
