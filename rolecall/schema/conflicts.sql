-- Exceptions for conflicts: their audit, their approvals and their effect on the status of a conflict. An exception covers the duties that
-- the person held when it was requested, with the patterns that these duties had.
--
-- INSERT of conflicts fires `except_conflicts`. INSERT of duty_holders or duty_rule_duties fires `end_outgrown_exceptions`, and UPDATE of a
-- duty's patterns fires `end_exceptions_of_duty`. UPDATE of a rule's owner fires `drop_approvals_of_rule`. A forbidden change of status fires
-- `refuse_move`.

-- Refuse a change of status that CONFLICT_MOVES (duties/model.py) or EXCEPTION_MOVES (conflicts/model.py) does not list.
CREATE OR REPLACE FUNCTION refuse_move() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% cannot change from % to %', TG_ARGV[0], OLD.status, NEW.status USING ERRCODE = 'check_violation';
END $$;
CREATE OR REPLACE TRIGGER refuse_move BEFORE UPDATE OF status ON conflicts FOR EACH ROW
    WHEN (NEW.status <> OLD.status AND OLD.status || ' > ' || NEW.status <> ALL (conflict_moves())) EXECUTE FUNCTION refuse_move('A conflict');
CREATE OR REPLACE TRIGGER refuse_move BEFORE UPDATE OF status ON conflict_exceptions FOR EACH ROW
    WHEN (NEW.status <> OLD.status AND OLD.status || ' > ' || NEW.status <> ALL (exception_moves())) EXECUTE FUNCTION refuse_move('An exception');

-- Mark a new conflict as excepted if an exception for its rule and person is in force.
CREATE OR REPLACE FUNCTION except_conflicts() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE conflicts c SET status = 'Excepted' FROM new_rows n JOIN conflict_exceptions e ON e.rule_id = n.rule_id AND e.identity_id = n.identity_id
    WHERE c.id = n.id AND e.status = 'Approved';
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER except_conflicts AFTER INSERT ON conflicts REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION except_conflicts();

-- Reopen the excepted conflicts of the rules and people of these exceptions, unless another exception for the same rule and person is in
-- force. Return the reopened conflicts.
CREATE OR REPLACE FUNCTION reopen_conflicts(exceptions uuid[]) RETURNS uuid[] LANGUAGE sql BEGIN ATOMIC
    WITH opened AS (
        UPDATE conflicts c SET status = 'Open' FROM conflict_exceptions e
        WHERE e.id = ANY (exceptions) AND c.rule_id = e.rule_id AND c.identity_id = e.identity_id AND c.status = 'Excepted'
              AND NOT EXISTS (SELECT FROM conflict_exceptions x WHERE x.rule_id = c.rule_id AND x.identity_id = c.identity_id AND x.status = 'Approved')
        RETURNING c.id)
    SELECT coalesce(array_agg(opened.id), '{}') FROM opened;
END;

-- End the given exceptions that are pending or in force, with the given status, and reopen their conflicts.
CREATE OR REPLACE FUNCTION end_exceptions(exceptions uuid[], final_status text, said text, moment timestamptz) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    ended uuid[];
    opened uuid[];
BEGIN
    WITH moved AS (
        -- Fires notify_of_ended_exception, schema/notifications.sql.
        UPDATE conflict_exceptions SET status = final_status, ended_on = least(until, moment)
        WHERE id = ANY (exceptions) AND status IN ('Pending', 'Approved') RETURNING id)
    SELECT array_agg(id) INTO ended FROM moved;
    opened := reopen_conflicts(ended);
    INSERT INTO activity (item_id, created_date, author, action, content)
    SELECT coalesce(c.id, e.conflict_id), moment, 'System', final_status, said || CASE WHEN c.id = ANY (opened) THEN '; the conflict is open again' ELSE '' END
    FROM conflict_exceptions e LEFT JOIN conflicts c ON c.rule_id = e.rule_id AND c.identity_id = e.identity_id AND c.until IS NULL
    WHERE e.id = ANY (ended) ORDER BY e.number;
END $$;

-- For each of these conflicts that a change ended, record the change and its author, and notify the people of the rule (people_of_rule).
-- Delete the stored sides of the conflicts that have not ended, because these sides can be computed from the access.
CREATE OR REPLACE FUNCTION record_ends(conflicts_before uuid[], said text, moment timestamptz) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    ended uuid[] := ARRAY(SELECT id FROM conflicts WHERE id = ANY (conflicts_before) AND until IS NOT NULL);
BEGIN
    DELETE FROM past_sides WHERE conflict_id = ANY (conflicts_before) AND conflict_id <> ALL (ended);
    INSERT INTO activity (item_id, created_date, author, action, content)
    SELECT id, moment, coalesce(nullif(current_setting('rolecall.author', true), '')::jsonb #>> '{caller,name}', 'System'), 'Ended',
           'The conflict ended: ' || said FROM conflicts WHERE id = ANY (ended) ORDER BY number;
    PERFORM notify_people(ARRAY(SELECT person FROM people_of_rule(e.rule_id) AS person WHERE person IS DISTINCT FROM author_id()),
                          'Conflict Ended', 'Duty Rule', e.rule_id, e.count::text)
    FROM (SELECT rule_id, count(*) FROM conflicts WHERE id = ANY (ended) GROUP BY rule_id) AS e;
END $$;

-- Delete the approvals of these pending exceptions. If an exception had approvals, notify the people who can approve it now.
CREATE OR REPLACE FUNCTION drop_approvals(exceptions uuid[], said text, moment timestamptz) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    dropped record;
BEGIN
    FOR dropped IN
        WITH gone AS (DELETE FROM exception_approvals WHERE exception_id = ANY (exceptions) RETURNING exception_id, approver_name)
        SELECT e.id, e.number, coalesce(c.id, e.conflict_id) AS conflict_id, string_agg(g.approver_name, ', ') AS names
        FROM gone g JOIN conflict_exceptions e ON e.id = g.exception_id
        LEFT JOIN conflicts c ON c.rule_id = e.rule_id AND c.identity_id = e.identity_id AND c.until IS NULL
        GROUP BY e.id, e.number, c.id ORDER BY e.number
    LOOP
        INSERT INTO activity (item_id, created_date, author, action, content)
        VALUES (dropped.conflict_id, moment, 'System', 'Exception', format('The approval of %s was dropped: %s', dropped.names, said));
        PERFORM remind_approvers(dropped.id);
    END LOOP;
END $$;

-- Delete the approvals of a rule's pending exceptions when the rule gets another owner.
CREATE OR REPLACE FUNCTION drop_approvals_of_rule() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM drop_approvals(ARRAY(SELECT id FROM conflict_exceptions WHERE rule_id = NEW.id AND status = 'Pending'),
                           'the rule has another owner', written_on());
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER drop_approvals_of_rule AFTER UPDATE OF definition ON duty_rules FOR EACH ROW
    WHEN (OLD.definition ->> 'ownerId' IS DISTINCT FROM NEW.definition ->> 'ownerId') EXECUTE FUNCTION drop_approvals_of_rule();

-- End the exceptions that are pending or in force if the person holds several of the rule's conflicting duties, and the exception does not
-- cover all of these duties.
CREATE OR REPLACE FUNCTION end_outgrown_exceptions() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    outgrown uuid[];
BEGIN
    IF EXISTS (SELECT FROM conflict_exceptions WHERE status IN ('Pending', 'Approved')) THEN
        outgrown := ARRAY(
            SELECT e.id FROM conflict_exceptions e JOIN duty_rule_duties r ON r.rule_id = e.rule_id AND NOT r.is_control
            JOIN duty_holders h ON h.duty_id = r.duty_id AND h.identity_id = e.identity_id
            WHERE e.status IN ('Pending', 'Approved') GROUP BY e.id HAVING count(*) > 1 AND bool_or(r.duty_id <> ALL (e.duties)));
        PERFORM end_exceptions(outgrown, 'Outgrown', 'The exception ended: the person holds another duty of the rule, which was not approved', written_on())
        WHERE cardinality(outgrown) > 0;
    END IF;
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER end_outgrown_exceptions AFTER INSERT ON duty_holders FOR EACH STATEMENT EXECUTE FUNCTION end_outgrown_exceptions();
CREATE OR REPLACE TRIGGER end_outgrown_exceptions AFTER INSERT ON duty_rule_duties FOR EACH STATEMENT EXECUTE FUNCTION end_outgrown_exceptions();

-- When a duty gets a new pattern, end the exceptions that cover the duty.
CREATE OR REPLACE FUNCTION end_exceptions_of_duty() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    outgrown uuid[];
BEGIN
    IF EXISTS (SELECT value FROM jsonb_array_elements(NEW.patterns) EXCEPT SELECT value FROM jsonb_array_elements(OLD.patterns)) THEN
        outgrown := ARRAY(SELECT id FROM conflict_exceptions WHERE status IN ('Pending', 'Approved') AND NEW.id = ANY (duties));
        PERFORM end_exceptions(outgrown, 'Outgrown', format('The exception ended: the duty %s has new patterns, which were not approved', NEW.name), written_on())
        WHERE cardinality(outgrown) > 0;
    END IF;
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER end_exceptions_of_duty AFTER UPDATE OF patterns ON duties FOR EACH ROW
    WHEN (OLD.patterns <> NEW.patterns) EXECUTE FUNCTION end_exceptions_of_duty();

CALL keep_audit('conflict_exceptions', '''Conflict''', 'r.conflict_id',
                $$to_jsonb(r) - '{id,conflict_id,number,rule_id,identity_id}'::text[]$$, $$'exceptions.' || r.number$$);
CALL keep_audit('exception_approvals', '''Conflict''', '(SELECT e.conflict_id FROM conflict_exceptions e WHERE e.id = r.exception_id)',
                $$to_jsonb(r) - '{exception_id,position}'::text[]$$, $$'approvals.' || r.position$$);
