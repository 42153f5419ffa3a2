-- Who moved the end of a leave to a later date, the person behind a token: like who entered it, they do not stand in.
ALTER TABLE absences ADD COLUMN prolonged_by uuid[] NOT NULL DEFAULT '{}';
