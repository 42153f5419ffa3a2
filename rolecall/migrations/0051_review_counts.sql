-- What a review had when it ended, for its evidence: nothing can be left out together with its audit entry.
ALTER TABLE reviews ADD COLUMN decision_count int, ADD COLUMN move_count int, ADD COLUMN closed_due_on timestamptz;
