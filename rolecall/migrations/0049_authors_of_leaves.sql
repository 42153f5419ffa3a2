-- Store who entered a leave, because this person must not stand in for the person on leave. For a token with an owner,
-- this is the owner.
ALTER TABLE absences ADD COLUMN entered_by uuid;
UPDATE absences a SET entered_by = coalesce((SELECT t.owner_id FROM tokens t WHERE t.id = e.reporter_id), e.reporter_id)
FROM personnel_events e WHERE e.id = a.event_id;
