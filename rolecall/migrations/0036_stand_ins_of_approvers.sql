-- The person who approved an exception for the approver.
ALTER TABLE exception_approvals ADD COLUMN stand_in_id uuid, ADD COLUMN stand_in_name text,
    ADD CONSTRAINT stand_in_has_a_name CHECK ((stand_in_id IS NULL) = (stand_in_name IS NULL));
-- People are notified when they are named as a stand-in, and when a rule finds conflicts.
ALTER TABLE notifications DROP CONSTRAINT item_kind_is_known;
ALTER TABLE notifications ADD CONSTRAINT item_kind_is_known
    CHECK (item_kind IN ('Access Request', 'Personnel Event', 'Import', 'Webhook', 'Channel', 'Exception', 'Report',
                         'Application', 'Stand-In', 'Duty Rule'));
