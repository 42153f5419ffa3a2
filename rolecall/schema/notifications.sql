-- Insert notifications in the transaction of the change that they report, so that none is lost.
--
-- The comment of a trigger function names the change and the people to notify, and the function is followed by its triggers.
-- In Python, a comment at a statement names the triggers that it fires. The other functions are called by Python code and by other
-- functions.

-- Return the person or token that writes this transaction, or null.
CREATE OR REPLACE FUNCTION author_id() RETURNS uuid STABLE LANGUAGE sql RETURN
    (nullif(current_setting('rolecall.author', true), '')::jsonb #>> '{caller,id}')::uuid;

-- Return the active people behind a reviewer: the person, or every administrator for the reviewer Administrators.
CREATE OR REPLACE FUNCTION people_to_notify(reviewer uuid) RETURNS SETOF uuid STABLE ROWS 1 LANGUAGE sql BEGIN ATOMIC
    SELECT i.id FROM identities i WHERE i.id = reviewer AND i.status = 'Active'
    UNION ALL
    SELECT i.id FROM console_roles c JOIN identities i ON i.id = c.identity_id
    WHERE reviewer = administrators_id() AND c.role = 'Administrator' AND i.status = 'Active';
END;

-- Return the active people behind a reviewer and their stand-ins, whether or not they may decide on a given request.
CREATE OR REPLACE FUNCTION people_who_respond(reviewer uuid, response_type text) RETURNS SETOF uuid STABLE ROWS 1 LANGUAGE sql BEGIN ATOMIC
    SELECT people_to_notify(reviewer) UNION SELECT stand_ins_for(reviewer, response_type, written_on());
END;

-- Return the people behind a reviewer, and their stand-ins, who may decide on this request.
CREATE OR REPLACE FUNCTION people_who_may_respond(request access_requests, response_type text, reviewer uuid) RETURNS SETOF uuid STABLE ROWS 1 LANGUAGE sql BEGIN ATOMIC
    SELECT person FROM people_to_notify(reviewer) AS person
    WHERE may_decide(person) AND person <> ALL (excluded_from(request, response_type))
    UNION SELECT eligible_stand_ins(reviewer, response_type, written_on(), excluded_stand_ins(request, response_type, reviewer));
END;

-- Return the person if active, otherwise the administrators.
CREATE OR REPLACE FUNCTION person_or_administrators(person uuid) RETURNS SETOF uuid STABLE ROWS 1 LANGUAGE sql BEGIN ATOMIC
    SELECT people_to_notify(CASE WHEN EXISTS (SELECT FROM identities i WHERE i.id = person AND i.status = 'Active')
                               THEN person ELSE administrators_id() END);
END;

-- Insert one notification for each person, and wake the sender.
CREATE OR REPLACE FUNCTION notify_people(people uuid[], kind_of_notification text, kind_of_item text, item uuid, part_of_item text DEFAULT '') RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO notifications (id, identity_id, kind, item_kind, item_id, part, created_date, next_attempt_on)
    SELECT gen_random_uuid(), person, kind_of_notification, kind_of_item, item, part_of_item, written_on(), written_on()
    FROM (SELECT DISTINCT unnest(people) AS person) AS affected;
    IF FOUND THEN
        PERFORM pg_notify(notifications_channel(), '');
    END IF;
END $$;

-- Return the people who may give the pending responses that these requests wait for. Leave out rules that the response of another reviewer
-- already fulfills.
CREATE OR REPLACE FUNCTION people_asked(requests uuid[]) RETURNS TABLE (request_id uuid, type text, person uuid) STABLE LANGUAGE sql BEGIN ATOMIC
    SELECT DISTINCT r.id, p.type, to_notify.person
    FROM access_requests r
    JOIN responses p ON p.request_id = r.id AND p.type = awaited_type(r.status) AND p.asked AND p.response = 'Pending'
    CROSS JOIN LATERAL people_who_may_respond(r, p.type, p.reviewer_id) AS to_notify (person)
    WHERE r.id = ANY (requests) AND NOT EXISTS (
        SELECT FROM responses met WHERE met.request_id = p.request_id AND met.type = p.type AND met.rule = p.rule AND met.response = 'Approved');
END;

CREATE OR REPLACE FUNCTION notify_reviewers(requests uuid[], kind_of_notification text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO notifications (id, identity_id, kind, item_kind, item_id, part, created_date, next_attempt_on)
    SELECT gen_random_uuid(), asked.person, kind_of_notification, 'Access Request', asked.request_id, asked.type, written_on(), written_on()
    FROM people_asked(requests) AS asked;
    IF FOUND THEN
        PERFORM pg_notify(notifications_channel(), '');
    END IF;
END $$;

-- When a reviewer responds to a request with Approved, mark as read the notifications of people whose response is no longer needed.
CREATE OR REPLACE FUNCTION note_met_rules() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    met CONSTANT uuid[] := ARRAY(SELECT DISTINCT request_id FROM new_rows WHERE response = 'Approved');
BEGIN
    IF cardinality(met) > 0 THEN
        UPDATE notifications SET is_read = true
        WHERE item_id = ANY (met) AND NOT is_read AND kind IN ('Waiting', 'Due', 'Escalated')
          AND (item_id, identity_id) NOT IN (SELECT asked.request_id, asked.person FROM people_asked(met) AS asked);
    END IF;
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER note_met_rules AFTER UPDATE ON responses REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION note_met_rules();

-- Notify the additional reviewer to whom a request was escalated, and their stand-ins, except people who must not decide on the request.
CREATE OR REPLACE FUNCTION notify_further_reviewer(request uuid, response_type text, reviewer uuid) RETURNS void LANGUAGE sql BEGIN ATOMIC
    SELECT notify_people(ARRAY(SELECT people_who_may_respond(r, response_type, reviewer)),
                         'Escalated', 'Access Request', r.id, response_type) FROM access_requests r WHERE r.id = request;
END;

-- When a request is created, notify its reviewers; when it is assigned, its assignee; when it is approved, completed or canceled, its
-- reporter or the owner of the token that reported it. Nobody is notified of their own assignment or decision.
CREATE OR REPLACE FUNCTION notify_of_request_events() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM notify_reviewers(ARRAY(SELECT request_id FROM new_rows WHERE name = 'AccessRequestCreated'), 'Waiting');
    INSERT INTO notifications (id, identity_id, kind, item_kind, item_id, part, created_date, next_attempt_on)
    SELECT gen_random_uuid(), i.id, affected.kind, 'Access Request', affected.request_id, affected.name, written_on(), written_on()
    FROM (SELECT e.request_id, e.name, e.caller_id, CASE e.name WHEN 'AccessRequestAssigned' THEN 'Assigned' ELSE 'Decided' END AS kind,
                 CASE e.name WHEN 'AccessRequestAssigned' THEN r.assignee_id 
                                    ELSE coalesce((SELECT t.owner_id FROM tokens t WHERE t.id = r.reporter_id), r.reporter_id) END AS person
          FROM new_rows e JOIN access_requests r ON r.id = e.request_id
          WHERE e.name IN ('AccessRequestAssigned', 'AccessRequestCompleted', 'AccessRequestCanceled')
             -- If the request needed no approval, there is no decision to report.
             OR e.name = 'AccessRequestApproved' AND EXISTS (SELECT FROM responses p WHERE p.request_id = r.id AND p.type = 'Approve')) AS affected
    JOIN identities i ON i.id = affected.person AND i.status = 'Active' AND i.id <> ALL (with_token_owners(ARRAY[affected.caller_id]));
    IF FOUND THEN
        PERFORM pg_notify(notifications_channel(), '');
    END IF;
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER notify_of_request_events AFTER INSERT ON access_request_events REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION notify_of_request_events();

-- When the status of a request changes, mark as read its notifications that ask for work, and notify the reviewers who must respond now.
CREATE OR REPLACE FUNCTION notify_of_moved_requests() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    -- Compare the time too: a request that stays Pending but now waits for another reviewer has only a new `status_since`.
    moved CONSTANT uuid[] := ARRAY(SELECT id FROM (SELECT id, status, status_since FROM new_rows EXCEPT SELECT id, status, status_since FROM old_rows) AS changed);
BEGIN
    IF cardinality(moved) > 0 THEN
        UPDATE notifications SET is_read = true
        WHERE item_id = ANY (moved) AND NOT is_read AND kind IN ('Waiting', 'Due', 'Escalated', 'Assigned');
        PERFORM notify_reviewers(moved, 'Waiting');
    END IF;
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER notify_of_moved_requests AFTER UPDATE ON access_requests REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION notify_of_moved_requests();

-- When a personnel event is created or canceled, or the return date of a leave changes, notify the supervisor and, for a leave, also the
-- person who takes it. Nobody is notified of their own change.
CREATE OR REPLACE FUNCTION notify_of_personnel_events() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM notify_people(ARRAY(
        SELECT person FROM identities i CROSS JOIN LATERAL unnest(ARRAY[i.supervisor_id, CASE WHEN NEW.type = 'Absence' THEN i.id END]) AS each
        CROSS JOIN LATERAL people_to_notify(each) AS person
        WHERE i.id = NEW.identity_id AND person IS DISTINCT FROM author_id()), 'Personnel Event', 'Personnel Event', NEW.id,
        coalesce(TG_ARGV[0], NEW.status));
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER notify_of_new_event AFTER INSERT ON personnel_events FOR EACH ROW EXECUTE FUNCTION notify_of_personnel_events();
CREATE OR REPLACE TRIGGER notify_of_canceled_event AFTER UPDATE OF status ON personnel_events FOR EACH ROW
    WHEN (NEW.status = 'Canceled' AND OLD.status <> 'Canceled') EXECUTE FUNCTION notify_of_personnel_events();
CREATE OR REPLACE TRIGGER notify_of_return_date AFTER UPDATE OF needed_until ON personnel_events FOR EACH ROW
    WHEN (NEW.type = 'Absence' AND NEW.needed_until IS DISTINCT FROM OLD.needed_until) EXECUTE FUNCTION notify_of_personnel_events('Return Date');

-- When a personnel event is assigned, notify the assignee, unless they made the change.
CREATE OR REPLACE FUNCTION notify_of_assigned_event() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM notify_people(ARRAY(SELECT person FROM people_to_notify(NEW.assignee_id) AS person WHERE person IS DISTINCT FROM author_id()),
              'Assigned', 'Personnel Event', NEW.id);
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER notify_of_assigned_event AFTER UPDATE OF assignee_id ON personnel_events FOR EACH ROW
    WHEN (NEW.assignee_id IS DISTINCT FROM OLD.assignee_id AND NEW.assignee_id IS NOT NULL) EXECUTE FUNCTION notify_of_assigned_event();

-- When an import fails, or is held (the next trigger), notify the owner of the application or, without an active owner, the administrators.
CREATE OR REPLACE FUNCTION notify_of_failed_import() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM notify_people(ARRAY(SELECT person_or_administrators(a.owner_id) FROM applications a WHERE a.id = NEW.application_id),
              CASE NEW.type WHEN 'Scheduled' THEN 'Schedule Failed' ELSE 'Import Failed' END, 'Import', NEW.id);
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER notify_of_failed_import AFTER UPDATE OF status ON application_imports FOR EACH ROW
    WHEN (NEW.status = 'Failed' AND OLD.status <> 'Failed') EXECUTE FUNCTION notify_of_failed_import();

CREATE OR REPLACE FUNCTION notify_of_held_import() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM notify_people(ARRAY(SELECT person_or_administrators(a.owner_id)
                    FROM application_imports i JOIN applications a ON a.id = i.application_id WHERE i.id = NEW.import_id),
              'Import Held', 'Import', NEW.import_id);
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER notify_of_held_import AFTER UPDATE OF held ON import_runs FOR EACH ROW
    WHEN (NEW.held IS NOT NULL AND OLD.held IS NULL) EXECUTE FUNCTION notify_of_held_import();

-- Notify the administrators when a webhook has failed so often that the circuit breaker only probes it, or when the service disables it.
CREATE OR REPLACE FUNCTION notify_of_failing_webhook() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM notify_people(ARRAY(SELECT people_to_notify(administrators_id())), 'Webhook Failing', 'Webhook', NEW.id);
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER notify_of_failing_webhook AFTER UPDATE ON webhooks FOR EACH ROW
    WHEN (NEW.deleted_on IS NULL AND (NEW.failures >= failures_until_probed() AND OLD.failures < failures_until_probed()
                                      OR NEW.disabled_reason IS NOT NULL AND OLD.disabled_reason IS NULL))
    EXECUTE FUNCTION notify_of_failing_webhook();

-- Return the owner of a rule and their stand-ins or, without an active owner, the administrators.
CREATE OR REPLACE FUNCTION people_of_rule(rule uuid) RETURNS SETOF uuid STABLE ROWS 1 LANGUAGE sql BEGIN ATOMIC
    SELECT person_or_administrators((r.definition ->> 'ownerId')::uuid) FROM duty_rules r WHERE r.id = rule
    UNION SELECT stand_ins_for((r.definition ->> 'ownerId')::uuid, 'Approve', written_on()) FROM duty_rules r WHERE r.id = rule;
END;

-- Return the people who can give the next approval of a pending exception: first the rule's owner, then the owners of the applications
-- that give the conflicting duties, each with their stand-ins. If none of these people may decide, return the administrators.
-- conflicts/approving.py has the same rules.
CREATE OR REPLACE FUNCTION people_who_approve(exception uuid) RETURNS SETOF uuid STABLE ROWS 1 LANGUAGE sql BEGIN ATOMIC
    WITH requested AS MATERIALIZED (
        SELECT e.rule_id, e.identity_id, (r.definition ->> 'ownerId')::uuid AS owner_id, given.parts,
               ARRAY[e.identity_id, e.requested_by, e.requester_id] || given.people AS excluded
        FROM conflict_exceptions e JOIN duty_rules r ON r.id = e.rule_id CROSS JOIN LATERAL (
            SELECT coalesce(array_agg(DISTINCT p.part), '{}') AS parts, coalesce(array_agg(each) FILTER (WHERE each IS NOT NULL), '{}') AS people
            FROM exception_approvals p CROSS JOIN LATERAL unnest(ARRAY[p.approver_id, p.stand_in_id, p.recorder_id] || p.through_ids) AS each
            WHERE p.exception_id = e.id) AS given
        WHERE e.id = exception AND e.status = 'Pending' AND cardinality(given.parts) < 2
    ), owners AS MATERIALIZED (
        SELECT o.id, a.excluded FROM requested a CROSS JOIN LATERAL (
            SELECT a.owner_id AS id WHERE 'Rule Owner' <> ALL (a.parts)
            UNION
            SELECT i.owner_id FROM duty_access(ARRAY(SELECT d.duty_id FROM duty_rule_duties d WHERE d.rule_id = a.rule_id AND NOT d.is_control), ARRAY[a.identity_id], NULL) AS h
            JOIN accounts c ON c.number = h.account JOIN applications i ON i.id = c.application_id WHERE 'Rule Owner' = ANY (a.parts)) AS o
        WHERE may_decide(o.id) AND o.id <> ALL (a.excluded)
    ), able AS MATERIALIZED (SELECT o.id FROM owners o UNION SELECT eligible_stand_ins(o.id, 'Approve', written_on(), o.excluded) FROM owners o)
    SELECT id FROM able
    UNION
    SELECT person FROM requested a CROSS JOIN LATERAL people_to_notify(administrators_id()) AS person
    WHERE NOT EXISTS (SELECT FROM able) AND person <> ALL (a.excluded);
END;

-- When an exception for a conflict is requested, notify the people who approve first. When it is approved, withdrawn while pending, Expired
-- or Outgrown, notify the person who requested it, unless they caused the change. When it is Expired or Outgrown, also notify the owner of
-- the control and the people of the rule (people_of_rule) except the person in conflict.
CREATE OR REPLACE FUNCTION notify_of_exception() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    is_decided CONSTANT boolean := NEW.status IN ('Approved', 'Withdrawn');
BEGIN
    IF NEW.status = 'Pending' THEN
        PERFORM notify_people(ARRAY(SELECT people_who_approve(NEW.id)), 'Conflict Exception', 'Exception', NEW.id, NEW.status);
    ELSE
        UPDATE notifications SET is_read = true WHERE item_id = NEW.id AND NOT is_read AND part = 'Pending';
        PERFORM notify_people(ARRAY(
            SELECT person FROM people_to_notify(NEW.requester_id) AS person WHERE person IS DISTINCT FROM author_id()
            UNION SELECT person FROM people_of_rule(NEW.rule_id) AS person WHERE NOT is_decided AND person <> NEW.identity_id
            UNION SELECT people_to_notify(NEW.control_owner_id) WHERE NOT is_decided), 'Conflict Exception', 'Exception', NEW.id, NEW.status);
    END IF;
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER notify_of_new_exception AFTER INSERT ON conflict_exceptions FOR EACH ROW EXECUTE FUNCTION notify_of_exception();
CREATE OR REPLACE TRIGGER notify_of_decided_exception AFTER UPDATE OF status ON conflict_exceptions FOR EACH ROW
    WHEN (NEW.status IN ('Approved', 'Withdrawn') AND OLD.status = 'Pending') EXECUTE FUNCTION notify_of_exception();
CREATE OR REPLACE TRIGGER notify_of_ended_exception AFTER UPDATE OF status ON conflict_exceptions FOR EACH ROW
    WHEN (NEW.status IN ('Expired', 'Outgrown') AND OLD.status <> NEW.status) EXECUTE FUNCTION notify_of_exception();

-- When an approval is given, mark as read the notifications of people who cannot give the next approval. After the approval of the rule's
-- owner, notify the people who can give the next approval.
CREATE OR REPLACE FUNCTION notify_of_approval() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    approvers CONSTANT uuid[] := ARRAY(SELECT people_who_approve(NEW.exception_id));
BEGIN
    UPDATE notifications SET is_read = true
    WHERE item_id = NEW.exception_id AND NOT is_read AND part = 'Pending' AND identity_id <> ALL (approvers);
    IF NEW.part = 'Rule Owner' THEN
        PERFORM notify_people(approvers, 'Conflict Exception', 'Exception', NEW.exception_id, 'Pending');
    END IF;
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER notify_of_approval AFTER INSERT ON exception_approvals FOR EACH ROW EXECUTE FUNCTION notify_of_approval();

-- When an approval is removed, notify the people who can give it now, except those who have an unread notification. This runs at the end of
-- the transaction, because an approval that replaces it is inserted later.
CREATE OR REPLACE FUNCTION notify_of_removed_approval() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM notify_people(ARRAY(
        SELECT person FROM people_who_approve(OLD.exception_id) AS person
        WHERE NOT EXISTS (SELECT FROM notifications n WHERE n.item_id = OLD.exception_id AND n.identity_id = person AND n.part = 'Pending' AND NOT n.is_read)),
        'Conflict Exception', 'Exception', OLD.exception_id, 'Pending');
    RETURN NULL;
END $$;
DROP TRIGGER IF EXISTS notify_of_removed_approval ON exception_approvals;
CREATE CONSTRAINT TRIGGER notify_of_removed_approval AFTER DELETE ON exception_approvals DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION notify_of_removed_approval();

-- Remind the people who can give the next approval of a pending exception.
CREATE OR REPLACE FUNCTION remind_approvers(exception uuid) RETURNS void LANGUAGE sql BEGIN ATOMIC
    SELECT notify_people(ARRAY(SELECT people_who_approve(exception)), 'Conflict Exception', 'Exception', exception, 'Pending');
END;

-- Notify the recipients of a scheduled report that its file was written. If the run failed, notify the owner of the report or, without an
-- active owner, the administrators.
CREATE OR REPLACE FUNCTION notify_of_report(report uuid, run uuid, has_failed boolean) RETURNS void LANGUAGE sql BEGIN ATOMIC
    SELECT notify_people(ARRAY(
        SELECT people_to_notify(each.id) FROM reports r CROSS JOIN LATERAL unnest(r.recipient_ids) AS each (id) WHERE r.id = report AND NOT has_failed
        UNION SELECT person_or_administrators(r.owner_id) FROM reports r WHERE r.id = report AND has_failed), 'Report', 'Report', report, run::text);
END;

-- When the owner of entitlements leaves, notify the owners of the applications, who act in their place. For an application without an active
-- owner, notify the administrators.
CREATE OR REPLACE FUNCTION notify_of_acting_owners() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM curations WHERE owner_id IS NOT NULL) THEN
        PERFORM notify_people(ARRAY(SELECT person_or_administrators(o.owner_id)), 'Ownership', 'Application', o.application_id, o.former_owner::text)
        FROM (SELECT DISTINCT a.id AS application_id, a.owner_id, n.id AS former_owner
              -- Use EXCEPT instead of a join; see note_acting_owners.
              FROM (SELECT id FROM (SELECT id, status = 'Active' AS is_active FROM new_rows EXCEPT SELECT id, status = 'Active' FROM old_rows) AS c
                    WHERE NOT is_active) AS n
              JOIN curations c ON c.owner_id = n.id JOIN entitlements e ON e.id = c.entitlement_id
              JOIN applications a ON a.id = e.application_id) AS o;
    END IF;
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER notify_of_acting_owners AFTER UPDATE ON identities REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION notify_of_acting_owners();

-- Notify people once of each exception in force that ends by this time: the owner of the control, the person who requested the exception, and
-- the people of its rule (people_of_rule) other than the person in conflict.
CREATE OR REPLACE FUNCTION notify_of_ending_exceptions(moment timestamptz) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    ending record;
BEGIN
    FOR ending IN SELECT e.id, e.rule_id, e.identity_id, e.control_owner_id, e.requester_id FROM conflict_exceptions e
                  WHERE e.status = 'Approved' AND e.until <= moment
                    AND NOT EXISTS (SELECT FROM notifications n WHERE n.item_id = e.id AND n.part = 'Ending') LOOP
        PERFORM notify_people(ARRAY(SELECT person FROM people_of_rule(ending.rule_id) AS person WHERE person <> ending.identity_id
                                    UNION SELECT people_to_notify(ending.control_owner_id) UNION SELECT people_to_notify(ending.requester_id)),
                              'Conflict Exception', 'Exception', ending.id, 'Ending');
    END LOOP;
END $$;

-- When the owner of a control leaves while its exception is pending or in force, notify the people of the rule (people_of_rule), but not the
-- person in conflict.
CREATE OR REPLACE FUNCTION notify_of_left_control_owners() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM conflict_exceptions WHERE status IN ('Pending', 'Approved')) THEN
        PERFORM notify_people(ARRAY(SELECT person FROM people_of_rule(e.rule_id) AS person WHERE person <> e.identity_id),
                              'Conflict Exception', 'Exception', e.id, 'Control')
        -- Use EXCEPT instead of a join; see note_acting_owners.
        FROM (SELECT id FROM new_rows WHERE status <> 'Active' EXCEPT SELECT id FROM old_rows WHERE status <> 'Active') AS n
        JOIN conflict_exceptions e ON e.control_owner_id = n.id AND e.status IN ('Pending', 'Approved');
    END IF;
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER notify_of_left_control_owners AFTER UPDATE ON identities REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION notify_of_left_control_owners();

-- When conflicts begin, notify the owner of the rule or, without an active owner, the administrators. Leave out people who have an unread
-- notification of conflicts with this rule.
CREATE OR REPLACE FUNCTION notify_of_conflicts() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM notify_people(ARRAY(SELECT person FROM people_to_notify(coalesce(
                                    (SELECT i.id FROM identities i WHERE i.id = begun.owner_id AND i.status = 'Active'), administrators_id())) AS person
                                WHERE NOT EXISTS (SELECT FROM notifications n WHERE n.identity_id = person AND n.item_id = begun.id
                                                                                AND n.kind = 'Conflict Opened' AND NOT n.is_read)),
                          'Conflict Opened', 'Duty Rule', begun.id)
    FROM (SELECT DISTINCT r.id, (r.definition ->> 'ownerId')::uuid AS owner_id
          FROM new_rows n JOIN conflicts c ON c.id = n.id AND c.status = 'Open' JOIN duty_rules r ON r.id = n.rule_id) AS begun;
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER notify_of_conflicts AFTER INSERT ON conflicts REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION notify_of_conflicts();

-- When a person gets a stand-in, or a stand-in's period is shortened, notify the person and the stand-in, except the author of the change.
-- Each recipient gets at most ten of these notifications an hour, to limit the messages that a person can cause.
CREATE OR REPLACE FUNCTION notify_of_stand_in() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM notify_people(ARRAY(SELECT i.id FROM identities i WHERE i.id IN (NEW.stand_in_id, NEW.identity_id) AND i.status = 'Active'
                                                                AND i.id IS DISTINCT FROM author_id()
                                                                AND 10 > (SELECT count(*) FROM notifications n WHERE n.identity_id = i.id AND n.kind = 'Stand-In'
                                                                          AND n.created_date > written_on() - interval '1 hour')),
                          'Stand-In', 'Stand-In', NEW.id, CASE TG_OP WHEN 'INSERT' THEN 'Named' ELSE 'Ended' END);
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER notify_of_new_stand_in AFTER INSERT ON stand_ins FOR EACH ROW EXECUTE FUNCTION notify_of_stand_in();
CREATE OR REPLACE TRIGGER notify_of_ended_stand_in AFTER UPDATE OF ends_on ON stand_ins FOR EACH ROW
    WHEN (NEW.ends_on < OLD.ends_on) EXECUTE FUNCTION notify_of_stand_in();

-- For each current leave that began in the last 30 days, notify the person on leave and the automatic stand-in once, if this stand-in responds
-- for at least one type. Notify neither if the same stand-in was also named by hand, because `notify_of_stand_in` notifies them.
CREATE OR REPLACE FUNCTION notify_of_leaves(moment timestamptz) RETURNS void LANGUAGE sql BEGIN ATOMIC
    SELECT notify_people(ARRAY[l.stand_in_id, l.identity_id], 'Stand-In', 'Personnel Event', l.event_id, 'Leave')
    FROM (SELECT a.event_id, a.identity_id, automatic_stand_in(a.identity_id, moment) AS stand_in_id FROM absences a
          WHERE a.starts_on <= moment AND a.starts_on > moment - interval '30 days' AND (a.ends_on IS NULL OR a.ends_on > moment)) AS l
    WHERE EXISTS (SELECT FROM unnest(ARRAY['Approve', 'Resolve', 'Verify']) AS each WHERE stand_in_of(l.identity_id, each, moment) = l.stand_in_id)
      AND NOT EXISTS (SELECT FROM stand_ins s WHERE s.identity_id = l.identity_id AND s.stand_in_id = l.stand_in_id AND s.ends_on > moment)
      AND NOT EXISTS (SELECT FROM notifications n WHERE n.identity_id = l.stand_in_id AND n.list_key >= time_key(moment - interval '31 days', 0)
                                                    AND n.item_id = l.event_id AND n.part = 'Leave');
END;

-- When a channel cannot send, notify the administrators in the console.
CREATE OR REPLACE FUNCTION notify_of_failing_channel() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM notify_people(ARRAY(SELECT people_to_notify(administrators_id())), 'Channel Failing', 'Channel', '00000000-0000-0000-0000-000000000000', NEW.channel);
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER notify_of_failing_channel AFTER UPDATE OF failing_since ON notification_channels FOR EACH ROW
    WHEN (NEW.failing_since IS NOT NULL AND OLD.failing_since IS NULL) EXECUTE FUNCTION notify_of_failing_channel();

CALL keep_list('notifications', 'identity_id', 'is_read');
CALL keep_list('notification_messages', 'outcome');
CALL keep_audit('notification_settings', '''Notification Settings''', $$'00000000-0000-0000-0000-000000000000'::uuid$$, 'jsonb_build_object(''value'', r.value)', 'camel(r.name)');
CALL keep_audit('notification_secrets', '''Notification Settings''', $$'00000000-0000-0000-0000-000000000000'::uuid$$, 'jsonb_build_object(''setOn'', r.set_on)', $$'secrets.' || r.channel$$);
CALL keep_audit('notification_preferences', '''Notification Preferences''', 'r.identity_id', $$jsonb_build_object('channel', r.channel, 'rhythm', r.rhythm)$$, $$'kinds.' || r.kind$$);
CALL keep_audit('notification_zones', '''Notification Preferences''', 'r.identity_id', $$jsonb_build_object('zone', r.zone)$$, $$'zone'$$);

-- Return the people who decide the items of a review that are not submitted yet. If `reviewers` is not null, consider only the items of
-- these reviewers.
CREATE OR REPLACE FUNCTION people_with_items(review uuid, reviewers uuid[]) RETURNS SETOF uuid STABLE LANGUAGE sql BEGIN ATOMIC
    SELECT DISTINCT person FROM (
        SELECT DISTINCT i.reviewer_id FROM review_items i
        WHERE i.review_id = review AND i.submission_id IS NULL AND i.status <> 'Withdrawn' AND (reviewers IS NULL OR i.reviewer_id = ANY (reviewers))) AS c
    CROSS JOIN LATERAL people_who_respond(c.reviewer_id, 'Approve') AS person;
END;

-- When a review is opened or due, or someone reminds its reviewers, notify the reviewers who have items left. When a token submits decisions
-- in the name of a reviewer, notify the reviewer. For the other events below, notify the owner of the review. If the owner is not active or
-- caused the event, notify the administrators.
CREATE OR REPLACE FUNCTION notify_of_review_events() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM notify_people(
        CASE WHEN n.name IN ('ReviewOpened', 'ReviewDue', 'ReviewReminded') THEN
                  ARRAY(SELECT people_with_items(r.id, CASE WHEN n.subject -> 'reviewerIds' IS NOT NULL THEN
                                                                ARRAY(SELECT json_array_elements_text(n.subject -> 'reviewerIds')::uuid) END))
             WHEN n.name = 'ReviewRecorded' THEN
                  ARRAY(SELECT people_to_notify(one.reviewer::uuid) FROM json_array_elements_text(n.subject -> 'reviewerIds') AS one (reviewer))
             ELSE ARRAY(SELECT person FROM person_or_administrators(nullif(r.owner_id, (n.subject ->> 'byId')::uuid)) AS person
                        WHERE person IS DISTINCT FROM (n.subject ->> 'byId')::uuid) END,
        'Review', 'Review', r.id, n.name)
    FROM new_rows n JOIN reviews r ON r.id = n.review_id
    WHERE n.name IN ('ReviewOpened', 'ReviewDue', 'ReviewReminded', 'ReviewItemReopened', 'ReviewOverdue', 'ReviewRemovalCanceled', 'ReviewAcceptanceEnded',
                     'ReviewStepByHolder', 'ReviewCanceled', 'ReviewRecorded');
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER notify_of_review_events AFTER INSERT ON review_events REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION notify_of_review_events();

-- When items are given to other reviewers, notify these reviewers, but at most once a day while a notification is unread, because the next
-- stage receives items one submission at a time.
CREATE OR REPLACE FUNCTION notify_of_moved_items() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM notify_people(ARRAY(
        SELECT person FROM people_who_respond(moved.to_id, 'Approve') AS person
        WHERE person IS DISTINCT FROM author_id() AND NOT EXISTS (
            SELECT FROM notifications n WHERE n.item_id = moved.review_id AND n.identity_id = person AND n.part = 'ReviewItemsMoved' AND NOT n.is_read
                                          AND n.created_date > written_on() - interval '1 day')),
        'Review', 'Review', moved.review_id, 'ReviewItemsMoved')
    FROM (SELECT DISTINCT review_id, to_id FROM new_rows WHERE to_id <> from_id OR stage > 1) AS moved;
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER notify_of_moved_items AFTER INSERT ON review_moves REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION notify_of_moved_items();

-- When a template could not create or open its review, or created a draft that a person must open, notify the owner of its reviews or, without
-- an active owner, the administrators.
CREATE OR REPLACE FUNCTION notify_of_templates() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM notify_people(ARRAY(SELECT person_or_administrators((NEW.body ->> 'ownerId')::uuid)), 'Review', 'Review Template', NEW.id,
                          CASE WHEN NEW.fault <> '' THEN 'Fault' ELSE NEW.last_review_id::text END);
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER notify_of_templates AFTER UPDATE OF fault, last_review_id ON review_templates FOR EACH ROW
    WHEN (NEW.fault <> OLD.fault AND NEW.fault <> '' OR NEW.last_review_id IS DISTINCT FROM OLD.last_review_id AND NOT NEW.opens)
    EXECUTE FUNCTION notify_of_templates();

-- When a reviewer submits decisions, mark their notifications of the review as read.
CREATE OR REPLACE FUNCTION note_submitted_review() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE notifications SET is_read = true
    WHERE item_id = NEW.review_id AND NOT is_read AND identity_id = NEW.reviewer_id AND part IN ('ReviewOpened', 'ReviewDue', 'ReviewReminded', 'ReviewItemsMoved');
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER note_submitted_review AFTER INSERT ON review_submissions FOR EACH ROW EXECUTE FUNCTION note_submitted_review();
