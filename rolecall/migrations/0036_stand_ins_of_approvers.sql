-- Store the stand-in who approved an exception for the approver.
ALTER TABLE exception_approvals ADD COLUMN stand_in_id uuid, ADD COLUMN stand_in_name text,
    ADD CONSTRAINT stand_in_has_a_name CHECK ((stand_in_id IS NULL) = (stand_in_name IS NULL));
-- Allow notifications to people who were named as a stand-in, and about conflicts that a rule finds.
ALTER TABLE notifications DROP CONSTRAINT item_kind_is_known;
ALTER TABLE notifications ADD CONSTRAINT item_kind_is_known
    CHECK (item_kind IN ('Access Request', 'Personnel Event', 'Import', 'Webhook', 'Channel', 'Exception', 'Report',
                         'Application', 'Stand-In', 'Duty Rule'));
