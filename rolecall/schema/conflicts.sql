-- Exceptions of conflicts: the audit of their decisions, and their effect on the status of a conflict.
--
-- INSERT of conflicts (refresh_conflicts, schema/duties.sql) fires `except_conflicts`.

-- A conflict that begins again while its exception is in force is excepted.
CREATE OR REPLACE FUNCTION except_conflicts() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE conflicts c SET status = 'Excepted' FROM new_rows n JOIN conflict_exceptions e ON e.rule_id = n.rule_id AND e.identity_id = n.identity_id
    WHERE c.id = n.id AND e.status = 'Approved';
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER except_conflicts AFTER INSERT ON conflicts REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION except_conflicts();

CALL keep_audit('conflict_exceptions', '''Conflict''', 'r.conflict_id',
                $$to_jsonb(r) - '{id,conflict_id,number,rule_id,identity_id}'::text[]$$, $$'exceptions.' || r.number$$);
CALL keep_audit('exception_approvals', '''Conflict''', '(SELECT e.conflict_id FROM conflict_exceptions e WHERE e.id = r.exception_id)',
                $$to_jsonb(r) - '{exception_id,position}'::text[]$$, $$'approvals.' || r.position$$);
