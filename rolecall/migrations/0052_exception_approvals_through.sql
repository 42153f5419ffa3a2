-- The people between an approver and the stand-in who approved: they chose the stand-in, so they give no other approval.
ALTER TABLE exception_approvals ADD COLUMN through_ids uuid[] NOT NULL DEFAULT '{}';
