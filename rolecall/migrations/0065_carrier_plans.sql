-- Store the digest of the carrier settings with which the steps were planned, and the assignee of the request at that
-- time. The steps are planned again if the settings have changed. If a person takes over the request, it stays with
-- this person.
ALTER TABLE carried_requests ADD COLUMN planned_with text NOT NULL DEFAULT '';
ALTER TABLE carried_requests ADD COLUMN assignee_id uuid;
