-- A plan is made again if the carrier was changed since; a person who takes over a request keeps it.
ALTER TABLE carried_requests ADD COLUMN planned_with text NOT NULL DEFAULT '';
ALTER TABLE carried_requests ADD COLUMN assignee_id uuid;
