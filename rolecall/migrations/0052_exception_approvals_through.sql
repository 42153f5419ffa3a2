-- Store the people between an approver and the stand-in who approved. They chose the stand-in, so they must not give
-- another approval.
ALTER TABLE exception_approvals ADD COLUMN through_ids uuid[] NOT NULL DEFAULT '{}';
