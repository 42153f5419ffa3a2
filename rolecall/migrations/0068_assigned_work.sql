-- Lists of a person contain what is assigned to them.
CREATE INDEX ON access_requests (assignee_id, list_key) WHERE assignee_id IS NOT NULL;
CREATE INDEX ON personnel_events (assignee_id, list_key) WHERE assignee_id IS NOT NULL;
