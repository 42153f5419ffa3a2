-- Add indexes for the lists of a person, which contain the records that are assigned to this person.
CREATE INDEX ON access_requests (assignee_id, list_key) WHERE assignee_id IS NOT NULL;
CREATE INDEX ON personnel_events (assignee_id, list_key) WHERE assignee_id IS NOT NULL;
