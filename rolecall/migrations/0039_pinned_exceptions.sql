-- Limit an exception to the duties that the person held when it was requested. `requester_id` and `recorder_id` are the
-- person behind a caller, or the token if it has no owner. The request and both approvals must come from different
-- people or tokens.
ALTER TABLE conflict_exceptions ADD COLUMN duties uuid[], ADD COLUMN requester_id uuid;
ALTER TABLE conflict_exceptions DISABLE TRIGGER USER;
UPDATE conflict_exceptions e SET requester_id = e.asked_by, duties = ARRAY(
    SELECT d::uuid FROM duty_rules r, jsonb_array_elements_text(r.definition -> 'conflicts') AS d WHERE r.id = e.rule_id);
ALTER TABLE conflict_exceptions ENABLE TRIGGER USER;
ALTER TABLE conflict_exceptions ALTER COLUMN duties SET NOT NULL, ALTER COLUMN requester_id SET NOT NULL;
ALTER TABLE conflict_exceptions DROP CONSTRAINT status_is_known;
ALTER TABLE conflict_exceptions ADD CONSTRAINT status_is_known CHECK (status IN ('Pending', 'Approved', 'Withdrawn', 'Expired', 'Outgrown'));

ALTER TABLE exception_approvals ADD COLUMN recorder_id uuid;
ALTER TABLE exception_approvals DISABLE TRIGGER USER;
UPDATE exception_approvals SET recorder_id = approver_id;
ALTER TABLE exception_approvals ENABLE TRIGGER USER;
ALTER TABLE exception_approvals ALTER COLUMN recorder_id SET NOT NULL;

-- Drop the foreign key, because the check of 50,000 keys took as long as finding who holds the duties. Duties are
-- deleted only in duties/actions.py.
ALTER TABLE duty_holders DROP CONSTRAINT duty_holders_duty_id_fkey;

-- Add the built-in reports that so far only new databases got. Skip a report if its name is in use, or was used by
-- a deleted report.
ALTER TABLE reports DISABLE TRIGGER USER;
INSERT INTO reports (id, name, description, list, filters, period, created_date)
SELECT gen_random_uuid(), shipped.name, shipped.description, shipped.list, shipped.filters::jsonb, 'Now', now()
FROM (VALUES
    ('Open conflicts of duties', 'Who holds duties that a rule keeps apart, since when and through what.', 'conflicts', '{"status": "Open"}'),
    ('Exceptions of conflicts', 'Who may keep a conflict, until when and under which control.', 'conflict-exceptions', '{"status": "Approved"}')
) AS shipped (name, description, list, filters)
WHERE NOT EXISTS (SELECT FROM reports r WHERE lower(r.name) = lower(shipped.name));
ALTER TABLE reports ENABLE TRIGGER USER;
