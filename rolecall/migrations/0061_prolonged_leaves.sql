-- Store who moved the end of a leave to a later date; for a token with an owner, the owner. Like the person who entered
-- the leave, these people must not stand in for the person on leave.
ALTER TABLE absences ADD COLUMN prolonged_by uuid[] NOT NULL DEFAULT '{}';
