-- Store how many decisions and moves a review had when it ended, and when it was due. The evidence shows these numbers,
-- so that it is noticed if a record is deleted together with its audit entry.
ALTER TABLE reviews ADD COLUMN decision_count int, ADD COLUMN move_count int, ADD COLUMN closed_due_on timestamptz;
