-- Find the leaves that some people entered or prolonged: `responds_for` asks it for the direct reports of a supervisor. Without the index it
-- would have to read the reports of all their reports.
CREATE INDEX absences_authors_idx ON absences USING gin ((entered_by || prolonged_by));
