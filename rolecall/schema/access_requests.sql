-- Access requests: the list of those that wait for people, and the audit of a request with its privileges, responses and related items.
--
-- INSERT (access_requests/creation.py) and UPDATE (access_requests/moving.py) of access_requests fire `keep_waiting_on_…`, an UPDATE also `keep_past`. The
-- events that access_requests/moving.py records fire triggers of personnel_events.sql and webhooks.sql.

-- Add the owners of the tokens among these callers.
CREATE OR REPLACE FUNCTION with_token_owners(callers uuid[]) RETURNS uuid[] STABLE LANGUAGE sql RETURN
    callers || ARRAY(SELECT t.owner_id FROM tokens t WHERE t.id = ANY (callers) AND t.owner_id IS NOT NULL);

-- Who provisioned a request, by a response or by a move. The assignee is read from the event of the move, because a verifier may be assigned later.
CREATE OR REPLACE FUNCTION done_by(which uuid) RETURNS uuid[] STABLE LANGUAGE sql RETURN
    ARRAY(SELECT unnest(array_remove(ARRAY[p.reviewer_id, p.stand_in_id], NULL)) FROM responses p
          WHERE p.request_id = which AND p.type = 'Resolve' AND p.response = 'Approved')
    || ARRAY(SELECT unnest(array_remove(ARRAY[e.caller_id, (e.request #>> '{assignee,id}')::uuid], NULL))
             FROM access_request_events e WHERE e.request_id = which AND e.name = 'AccessRequestResolved');

-- Who carried out a request that waits to be verified, and the owners of tokens among them.
CREATE OR REPLACE FUNCTION carried_out_by(request uuid, status text) RETURNS uuid[] STABLE LANGUAGE sql RETURN
    CASE WHEN status = 'Resolved' THEN with_token_owners(done_by(request)) ELSE '{}'::uuid[] END;

-- The people who must not respond to a request: they made it, it is about them, or they carried out what is to be verified.
CREATE OR REPLACE FUNCTION excluded_from(request access_requests, response_type text) RETURNS uuid[] STABLE LANGUAGE sql RETURN
    array_remove(ARRAY[request.reporter_id, request.identity_id], NULL)
    || CASE WHEN response_type = 'Verify' THEN carried_out_by(request.id, request.status) ELSE '{}'::uuid[] END;

-- The people who must not respond for a reviewer: one person does not approve or verify twice, as a reviewer and for another one.
CREATE OR REPLACE FUNCTION excluded_stand_ins(request access_requests, response_type text, reviewer uuid) RETURNS uuid[] STABLE LANGUAGE sql RETURN
    excluded_from(request, response_type) || ARRAY(
        SELECT person FROM responses p CROSS JOIN LATERAL unnest(ARRAY[p.reviewer_id, p.stand_in_id]) AS person
        WHERE p.request_id = request.id AND p.type = response_type AND p.type <> 'Resolve' AND (p.asked OR p.response = 'Approved')
          AND person IS NOT NULL AND person IS DISTINCT FROM reviewer);

-- Keep waiting_requests equal to the requests that wait for a person's response.
CREATE OR REPLACE FUNCTION keep_waiting_requests() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    waiting CONSTANT text[] := awaited_statuses();
BEGIN
    IF TG_OP = 'UPDATE' THEN
        -- By an array, not a join: a session keeps the plan of its first update, which may have had thousands of rows.
        DELETE FROM waiting_requests WHERE request_id = ANY (ARRAY(
            SELECT id FROM (SELECT id, status_since FROM old_rows WHERE status = ANY (waiting)
                            EXCEPT SELECT id, status_since FROM new_rows WHERE status = ANY (waiting)) AS moved));
    END IF;
    INSERT INTO waiting_requests (request_id, list_key)
    SELECT id, time_key(status_since, number) FROM new_rows WHERE status = ANY (waiting)
    ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER keep_waiting_on_insert AFTER INSERT ON access_requests REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION keep_waiting_requests();
CREATE OR REPLACE TRIGGER keep_waiting_on_update AFTER UPDATE ON access_requests REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION keep_waiting_requests();

-- Store the interval in which a request was fulfilled before it was reopened or canceled: docs/decisions/0090.
CREATE OR REPLACE FUNCTION keep_past_resolutions() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    fulfilled CONSTANT text[] := '{Resolved,Completed}';
    moment timestamptz := (SELECT max(status_since) FROM new_rows);
BEGIN
    IF NOT EXISTS (SELECT FROM old_rows WHERE status = 'Resolved') THEN
        RETURN NULL;
    END IF;
    INSERT INTO past_resolutions AS p (request_id, since, until)
    SELECT id, resolved_on, moment FROM (
        SELECT id, resolved_on FROM old_rows WHERE status = ANY (fulfilled)
        EXCEPT SELECT id, resolved_on FROM new_rows WHERE status = ANY (fulfilled)) AS ended
    WHERE resolved_on < moment
    ON CONFLICT (request_id, since) DO UPDATE SET until = greatest(p.until, EXCLUDED.until);
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER keep_past AFTER UPDATE ON access_requests REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION keep_past_resolutions();

-- Whether access that a request gives or takes is not known from imports yet: it is open, or completed since the last import began.
CREATE OR REPLACE FUNCTION is_unshown(r access_requests) RETURNS boolean STABLE LANGUAGE sql RETURN
    r.status <> 'Canceled' AND (r.status <> 'Completed' OR NOT EXISTS (
        SELECT FROM application_imports i
        WHERE i.application_id = r.application_id AND i.status = 'Finished' AND i.created_at >= r.completed_on));

-- Serialize the checks of requests about the same people or groups. They share 256 locks of each kind, because a lock for each of 100,000
-- people would fill the lock table.
CREATE OR REPLACE FUNCTION take_turns(kind text, keys text[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended(kind || ' ' || part, 0)) FROM (
        SELECT DISTINCT hashtextextended(key, 0) & 255 AS part FROM unnest(keys) AS key ORDER BY 1) AS parts;
END $$;

-- Serialize the checks of requests that name these groups, before those of people. Return null if no rule keeps duties apart, else whether
-- requests about groups are open, whose access members would get.
CREATE OR REPLACE FUNCTION take_turns_of_groups(there uuid[], names text[]) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    named text[];
BEGIN
    IF NOT EXISTS (SELECT FROM duty_rule_duties) THEN
        RETURN NULL;
    END IF;
    named := ARRAY(SELECT g.number::text FROM unnest(there, names) AS asked (application_id, name)
                   JOIN groups g ON g.application_id = asked.application_id AND g.name = asked.name);
    IF cardinality(named) > 0 THEN
        PERFORM take_turns('group', named);
    END IF;
    RETURN EXISTS (SELECT FROM access_requests r WHERE r.identity_id IS NULL AND is_unshown(r));
END $$;

-- Serialize the checks of requests of these people, then return what open requests would change for them: their own, and those of groups
-- that they are in. Volatile, so that the second statement sees what others committed during the wait; a generic plan, because planning
-- takes longer than running.
CREATE OR REPLACE FUNCTION take_turns_of_people(people uuid[], of_groups boolean)
RETURNS TABLE (identity_id uuid, application_id uuid, header text, section text, permission text, initial_access text, access text, holder text,
               is_group boolean)
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    PERFORM take_turns('person', people::text[]);
    RETURN QUERY SELECT r.identity_id, r.application_id, p.header, p.section, p.permission, p.initial_access,
            coalesce(p.lowered_access, p.requested_access), r.target_name, false
        FROM access_requests r JOIN privileges p ON p.request_id = r.id WHERE r.identity_id = ANY (people) AND is_unshown(r);
    IF of_groups THEN
        -- A request to remove or suspend a group itself has no privileges.
        RETURN QUERY SELECT a.identity_id, r.application_id, p.header, coalesce(p.section, ''), coalesce(p.permission, r.target_name),
                coalesce(p.initial_access, 'Grant'), coalesce(p.lowered_access, p.requested_access, 'None'), r.target_name, true
            FROM accounts a JOIN memberships m ON m.account_number = a.number AND m.until_import IS NULL
            CROSS JOIN LATERAL groups_above(ARRAY[m.group_number], now_import()) AS w JOIN groups g ON g.number = w.above
            JOIN access_requests r ON r.application_id = g.application_id AND r.target_name = g.name AND r.identity_id IS NULL AND is_unshown(r)
            LEFT JOIN privileges p ON p.request_id = r.id
            WHERE a.identity_id = ANY (people) AND (p.request_id IS NOT NULL OR r.action IN ('Remove', 'Suspend'));
    END IF;
END $$;

CALL keep_list('access_requests', 'application_id', 'status', 'action');
CALL keep_list('waiting_requests');
CALL keep_audit('access_requests', '''Access Request''', 'r.id', $$to_jsonb(r) - '{id,list_key,status_since}'::text[]$$);
CALL keep_audit('privileges', '''Access Request''', 'r.request_id', $$to_jsonb(r) - '{request_id,position}'::text[]$$, $$'privileges.' || r.position$$);
CALL keep_audit('request_conflicts', '''Access Request''', 'r.request_id', $$to_jsonb(r) - '{request_id}'::text[]$$, $$'conflicts.' || r.rule$$);
CALL keep_audit('responses', '''Access Request''', 'r.request_id', $$to_jsonb(r) - '{request_id,type,rule,position}'::text[]$$,
                $$concat_ws('.', 'responses', r.type, r.rule, r.position)$$);
CALL keep_audit('related_items', '''Access Request''', 'r.request_id', $$jsonb_build_object('kind', r.kind, 'number', r.number, 'stage', r.stage)$$,
                $$'relatedItems.' || r.item_id$$);
