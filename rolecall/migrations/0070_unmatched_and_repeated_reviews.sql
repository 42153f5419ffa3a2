-- As it was when a review was opened: identities that stand for an unmatched account (Unknown), accounts that a scope leaves out, and former
-- names of entitlements (Renamed).
ALTER TABLE review_scopes DROP CONSTRAINT kind_is_known,
    ADD CONSTRAINT kind_is_known CHECK (kind IN ('Account', 'Entitlement', 'Identity', 'Model', 'Renamed', 'Unknown'));
-- The date of a bulk decision to keep access for a while.
ALTER TABLE review_bulks ADD COLUMN until timestamptz;
-- The date that the dates of a template are counted from: the 31st of a month stays the 31st after a shorter one.
ALTER TABLE review_templates ADD COLUMN first_on timestamptz;
UPDATE review_templates SET first_on = next_on;
ALTER TABLE review_templates ALTER COLUMN first_on SET NOT NULL;
-- People are notified of templates that cannot open a review, and of drafts that they made.
ALTER TABLE notifications DROP CONSTRAINT item_kind_is_known;
ALTER TABLE notifications ADD CONSTRAINT item_kind_is_known
    CHECK (item_kind IN ('Access Request', 'Personnel Event', 'Import', 'Webhook', 'Channel', 'Exception', 'Report',
                         'Application', 'Stand-In', 'Duty Rule', 'Review', 'Review Template'));
