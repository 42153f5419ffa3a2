-- Access requests: who may respond to them, the list of requests that wait for people, and the queue of people whose requests are checked
-- again for conflicts of duties.
--
-- INSERT and UPDATE of access_requests fire `keep_waiting_on_…`, which updates waiting_requests. UPDATE also fires `keep_past`, which stores
-- periods in past_resolutions. A change that can make an earlier check of a request wrong fires a trigger `recheck_requests…`, which queues
-- people in people_to_recheck for access_requests/opening.py.

-- Return these callers, and the owners of the tokens among them.
CREATE OR REPLACE FUNCTION with_token_owners(callers uuid[]) RETURNS uuid[] STABLE LANGUAGE sql RETURN
    callers || ARRAY(SELECT t.owner_id FROM tokens t WHERE t.id = ANY (callers) AND t.owner_id IS NOT NULL);

-- Return who provisioned a request, for each time that it became Resolved: who made that change, the assignee at that time, and who had
-- responded, as a reviewer or as a stand-in. Read them from the events, because reopening resets the responses and a verifier may be assigned
-- later.
CREATE OR REPLACE FUNCTION resolved_by(which uuid) RETURNS SETOF uuid STABLE LANGUAGE sql BEGIN ATOMIC
    SELECT part.person FROM access_request_events e CROSS JOIN LATERAL (
        SELECT unnest(ARRAY[e.caller_id, (e.request #>> '{assignee,id}')::uuid]) AS person
        UNION ALL
        SELECT (found #>> '{}')::uuid FROM jsonb_path_query(e.request::jsonb,
            '$.requirements[*] ? (@.type == "Resolve").rules[*].responses[*] ? (@.response == "Approved").*.id') AS found) AS part
    WHERE e.request_id = which AND e.name = 'AccessRequestResolved' AND part.person IS NOT NULL;
END;

-- Return everyone who provisioned a request, through a response or a change of its status, even before it was reopened.
CREATE OR REPLACE FUNCTION done_by(which uuid) RETURNS uuid[] STABLE LANGUAGE sql RETURN
    ARRAY(SELECT unnest(array_remove(ARRAY[p.reviewer_id, p.stand_in_id], NULL)) FROM responses p
          WHERE p.request_id = which AND p.type = 'Resolve' AND p.response = 'Approved')
    || ARRAY(SELECT person FROM resolved_by(which) AS person);

-- Return who carried out a request that waits to be verified, and the owners of tokens among them. Return an empty array for other requests.
CREATE OR REPLACE FUNCTION carried_out_by(request uuid, status text) RETURNS uuid[] STABLE LANGUAGE sql RETURN
    CASE WHEN status = 'Resolved' THEN with_token_owners(done_by(request)) ELSE '{}'::uuid[] END;

-- Return who made a request: the reporter and, if the reporter is a token, its owner.
CREATE OR REPLACE FUNCTION reporters(request access_requests) RETURNS uuid[] STABLE LANGUAGE sql RETURN
    with_token_owners(ARRAY[request.reporter_id]);

-- Return the people whom a request is about: the identity, and the people whom it would put in conflict, such as members of a group.
CREATE OR REPLACE FUNCTION affected_people(request access_requests) RETURNS uuid[] STABLE LANGUAGE sql RETURN
    array_remove(ARRAY[request.identity_id], NULL) || ARRAY(SELECT p.identity_id FROM request_conflict_people p WHERE p.request_id = request.id);

-- Return the people in a group, or in a group below it, according to imports: they must not approve requests about the group. Administrators
-- among them may approve if no other administrator may decide, so that a request about everyone's group does not wait forever.
CREATE OR REPLACE FUNCTION members_who_must_not_approve(application uuid, group_name text, reporters uuid[]) RETURNS uuid[] STABLE LANGUAGE sql BEGIN ATOMIC
    WITH members AS MATERIALIZED (
        SELECT DISTINCT a.identity_id AS id FROM groups g CROSS JOIN LATERAL groups_below(g.number, now_import()) AS w
        JOIN memberships m ON m.group_number = w.number AND m.until_import IS NULL
        JOIN accounts a ON a.number = m.account_number AND a.identity_id IS NOT NULL
        WHERE g.application_id = application AND in_any_case(g.name) = in_any_case(group_name)
    ), administrators AS MATERIALIZED (
        SELECT c.identity_id AS id FROM console_roles c
        WHERE c.role = 'Administrator' AND c.identity_id <> ALL (reporters) AND may_decide(c.identity_id)
    )
    SELECT coalesce(array_agg(m.id), '{}') FROM members m
    WHERE m.id NOT IN (SELECT a.id FROM administrators a)
       OR EXISTS (SELECT FROM administrators a WHERE a.id NOT IN (SELECT o.id FROM members o));
END;

-- Return the members of the group that a request is about who must not approve it. Return an empty array for a request about a person.
CREATE OR REPLACE FUNCTION barred_members(request access_requests) RETURNS uuid[] STABLE LANGUAGE sql RETURN
    CASE WHEN request.identity_id IS NULL
         THEN members_who_must_not_approve(request.application_id, request.target_name, reporters(request)) ELSE '{}'::uuid[] END;

-- Return the people who must not decide on a request, because they made it or it is about them.
CREATE OR REPLACE FUNCTION parties(request access_requests) RETURNS uuid[] STABLE LANGUAGE sql RETURN
    reporters(request) || affected_people(request);

-- Return the people who must not respond to a request: its parties, for an approval the members of the group that it is about, and for a
-- verification those who carried it out.
CREATE OR REPLACE FUNCTION excluded_from(request access_requests, response_type text) RETURNS uuid[] STABLE LANGUAGE sql RETURN
    parties(request)
    || CASE response_type WHEN 'Verify' THEN carried_out_by(request.id, request.status)
                          WHEN 'Approve' THEN barred_members(request) ELSE '{}'::uuid[] END;

-- Return the people who must not respond for this reviewer: the people excluded from the request and, for an approval or verification, the
-- other reviewers and everyone who responded as a stand-in, because nobody may approve or verify twice. This includes the reviewer, if they
-- responded as the stand-in of another one.
CREATE OR REPLACE FUNCTION excluded_stand_ins(request access_requests, response_type text, reviewer uuid) RETURNS uuid[] STABLE LANGUAGE sql RETURN
    excluded_from(request, response_type) || ARRAY(
        SELECT person FROM responses p CROSS JOIN LATERAL unnest(ARRAY[p.reviewer_id, p.stand_in_id]) AS person
        WHERE p.request_id = request.id AND p.type = response_type AND p.type <> 'Resolve' AND (p.asked OR p.response = 'Approved')
          AND person IS NOT NULL AND (person IS DISTINCT FROM reviewer OR person = p.stand_in_id));

-- Update waiting_requests, which lists the requests that are waiting for a person's response.
CREATE OR REPLACE FUNCTION keep_waiting_requests() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    waiting CONSTANT text[] := awaited_statuses();
BEGIN
    IF TG_OP = 'UPDATE' THEN
        -- Use an array, not a join: a session keeps the plan of its first update, which may have had thousands of rows.
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

-- Store the period in which a request was fulfilled before it was reopened or canceled: docs/decisions/0090.
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

-- Return whether an import can show what requests changed. A rollback cannot, because it restores older data.
CREATE OR REPLACE FUNCTION shows_requests(i application_imports) RETURNS boolean STABLE LANGUAGE sql RETURN
    i.status = 'Finished' AND NOT EXISTS (SELECT FROM import_runs u WHERE u.import_id = i.id AND u.rollback_to IS NOT NULL);

-- Return whether an ended request has changed access: it was completed, or it was provisioned before it was canceled, even if it was reopened
-- in between. A carrier may have provisioned only a part of it.
CREATE OR REPLACE FUNCTION has_changed_access(r access_requests) RETURNS boolean STABLE LANGUAGE sql RETURN
    r.status = 'Completed' OR r.status = 'Canceled' AND (
        r.resolved_on IS NOT NULL OR EXISTS (SELECT FROM past_resolutions p WHERE p.request_id = r.id)
        OR EXISTS (SELECT FROM carrier_steps s WHERE s.request_id = r.id AND s.state <> 'Planned'));

-- Return when a request was completed or canceled, or null.
CREATE OR REPLACE FUNCTION ended_on(r access_requests) RETURNS timestamptz IMMUTABLE LANGUAGE sql RETURN coalesce(r.canceled_on, r.completed_on);

-- Return whether an import that can show requests was created since a moment, with files of all these contents. Ignore the import `without`.
-- Check the files first, so that shows_requests is not called for imports that lack a content: some applications lack it in most imports.
CREATE OR REPLACE FUNCTION is_shown_since(application uuid, moment timestamptz, contents text[], without bigint) RETURNS boolean
STABLE LANGUAGE sql RETURN EXISTS (
    SELECT FROM application_imports i
    WHERE i.application_id = application AND i.created_at >= moment AND i.number IS DISTINCT FROM without
          AND CASE WHEN contents <@ ARRAY(
              SELECT unnest(contents_of(g)) FROM import_files f JOIN file_groups g ON g.id = f.file_group_id WHERE f.import_id = i.id) THEN shows_requests(i) ELSE false END);

-- Return the contents of the files that may show the privileges of a request. The groups above a group are in the file of groups.
CREATE OR REPLACE FUNCTION contents_about(r access_requests) RETURNS text[] IMMUTABLE LANGUAGE sql RETURN
    ARRAY['permissions', CASE WHEN r.identity_id IS NULL THEN 'groups' ELSE 'memberships' END];

-- Return which of contents_about shows a privilege of a request. If its name is that of both a group and a permission, it means the group.
CREATE OR REPLACE FUNCTION content_of(p privileges, r access_requests) RETURNS text STABLE LANGUAGE sql RETURN
    CASE WHEN p.section <> '' THEN 'permissions'
         WHEN EXISTS (SELECT FROM groups g WHERE g.application_id = r.application_id AND g.name = p.permission AND is_group_header(g.number, p.header))
              OR p.header = default_group_header() AND NOT EXISTS (
                  SELECT FROM permissions q WHERE q.application_id = r.application_id AND q.header = p.header AND q.section = ''
                  AND q.permission = p.permission)
         THEN (contents_about(r))[2] ELSE 'permissions' END;

-- Return whether imports can show what an ended request changed: imports created since its end have files of every content that it is about.
-- Because some applications never have files of a content, a privilege needs no file if a later request changed it again and an import was
-- created after that request was completed. Ignore the import `without`.
CREATE OR REPLACE FUNCTION is_shown(r access_requests, without bigint) RETURNS boolean STABLE LANGUAGE plpgsql AS $$
BEGIN
    -- Usually one import has files of both contents. Look at the privileges only if none has.
    IF is_shown_since(r.application_id, ended_on(r), contents_about(r), without) THEN
        RETURN true;
    END IF;
    RETURN is_shown_since(r.application_id, ended_on(r), '{}', without) AND NOT EXISTS (
        SELECT FROM unnest(contents_about(r)) AS content
        WHERE NOT is_shown_since(r.application_id, ended_on(r), ARRAY[content], without) AND (content = 'groups' AND r.is_whole OR EXISTS (
            SELECT FROM privileges p
            WHERE p.request_id = r.id AND content_of(p, r) = content AND NOT EXISTS (
                SELECT FROM access_requests l
                WHERE l.application_id = r.application_id AND l.target_name = r.target_name AND l.target_type = r.target_type
                      AND l.status = 'Completed' AND l.resolved_on > ended_on(r)
                      AND (l.is_whole AND l.action = 'Remove' OR EXISTS (
                          SELECT FROM privileges q
                          WHERE q.request_id = l.id AND (q.header, q.section, q.permission) = (p.header, p.section, p.permission)))
                      AND is_shown_since(r.application_id, l.completed_on, '{}', without)))));
END $$;

-- Return whether imports cannot yet show what a request gives or takes. This is true while the request is neither
-- completed nor canceled. Afterwards it is true until imports can show it (is_shown); a rollback does not count
-- (shows_requests). It is false if the request was canceled before it was provisioned.
CREATE OR REPLACE FUNCTION is_unshown(r access_requests) RETURNS boolean STABLE LANGUAGE sql RETURN
    r.status NOT IN ('Completed', 'Canceled') OR has_changed_access(r) AND NOT is_shown(r, NULL);

-- Serialize the checks of requests about the same keys, such as people. The keys of one kind share 256 locks, because one lock for each of
-- 100,000 people would fill the lock table.
CREATE OR REPLACE FUNCTION take_turns(kind text, keys text[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended(kind || ' ' || part, 0)) FROM (
        SELECT DISTINCT hashtextextended(key, 0) & 255 AS part FROM unnest(keys) AS key ORDER BY 1) AS parts;
END $$;

-- Serialize the checks of requests about groups with the checks of all other requests, because a membership may give access through groups
-- that other requests change. The calling code must take this lock before the locks of people. If no rule keeps duties apart, take no lock
-- and return null. Otherwise return whether there are requests about groups that imports cannot show yet.
CREATE OR REPLACE FUNCTION take_turns_of_nesting(of_groups boolean) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM duty_rule_duties) THEN
        RETURN NULL;
    END IF;
    IF of_groups THEN
        PERFORM pg_advisory_xact_lock(hashtextextended('requests about groups', 0));
    ELSE
        PERFORM pg_advisory_xact_lock_shared(hashtextextended('requests about groups', 0));
    END IF;
    RETURN EXISTS (SELECT FROM access_requests r WHERE r.identity_id IS NULL AND is_unshown(r));
END $$;

-- Return whether a request can give access.
CREATE OR REPLACE FUNCTION gives(r access_requests) RETURNS boolean IMMUTABLE LANGUAGE sql RETURN r.action IN ('Add', 'Change', 'Restore');

-- Return the turn of a request: its number, -1 if it was provisioned, or 0 if it was canceled after that. The check of a request includes the
-- access that requests with a lower turn give (access_requests/open_access.py). Nobody confirms what a canceled request gave, so it counts as
-- access but not as a control duty.
CREATE OR REPLACE FUNCTION turn_of(r access_requests) RETURNS bigint IMMUTABLE LANGUAGE sql RETURN
    CASE WHEN r.status IN ('Resolved', 'Completed') THEN -1 WHEN r.status = 'Canceled' THEN 0 ELSE r.number END;

-- Return whether a privilege may give a membership: it has no section, gives access, and no import has shown it as a permission.
CREATE OR REPLACE FUNCTION is_membership(p privileges) RETURNS boolean STABLE LANGUAGE sql RETURN
    p.section = '' AND coalesce(p.lowered_access, p.requested_access) NOT IN ('None', 'Deny') AND NOT EXISTS (
        SELECT FROM permissions q JOIN access_requests r ON r.application_id = q.application_id
        WHERE r.id = p.request_id AND q.header = p.header AND q.section = '' AND q.permission = p.permission);

-- Return these groups and the groups above them (`up`) or below them, according to imports and to requests about groups that imports cannot
-- show yet. Names are compared ignoring case, because requests may name groups that no import has shown. The turn of a path is the highest
-- `turn_of` of its requests, or -1 without requests; `turn` is the lowest of all paths to a group. Each pair of name and turn is visited once,
-- so a cycle ends.
CREATE OR REPLACE FUNCTION requested_nesting(there uuid[], names text[], up boolean)
RETURNS TABLE (application_id uuid, start text, name text, turn bigint) STABLE LANGUAGE sql BEGIN ATOMIC
    WITH RECURSIVE requested AS MATERIALIZED (
        SELECT r.application_id, turn_of(r) AS turn, in_any_case(CASE WHEN up THEN r.target_name ELSE p.permission END) AS name,
               in_any_case(CASE WHEN up THEN p.permission ELSE r.target_name END) COLLATE "C" AS next
        FROM access_requests r JOIN privileges p ON p.request_id = r.id
        WHERE r.identity_id IS NULL AND is_unshown(r) AND gives(r) AND is_membership(p)
    ), walked (application_id, start, name, turn) AS (
        SELECT asked.application_id, asked.name, in_any_case(asked.name) COLLATE "C", -1::bigint FROM unnest(there, names) AS asked (application_id, name)
        UNION
        SELECT w.application_id, w.start, step.next, greatest(w.turn, step.turn) FROM walked w CROSS JOIN LATERAL (
            SELECT r.next, r.turn FROM requested r WHERE r.application_id = w.application_id AND r.name = w.name
            UNION ALL
            SELECT in_any_case(n.name) COLLATE "C", -1 FROM groups g CROSS JOIN LATERAL (
                SELECT l.parent AS number FROM parents_of(g.number) AS l WHERE up AND l.during @> now_import()
                UNION ALL
                SELECT l.child FROM children_of(g.number) AS l WHERE NOT up AND l.during @> now_import()) AS l
            JOIN groups n ON n.number = l.number
            WHERE g.application_id = w.application_id AND in_any_case(g.name) = w.name) AS step (next, turn)
    )
    SELECT w.application_id, w.start, w.name, min(w.turn) FROM walked w GROUP BY w.application_id, w.start, w.name;
END;

-- Serialize the checks of these people's requests, then return the requested changes of their access that imports cannot show yet: requests
-- about the people, their accounts and, with `of_groups`, the groups that they are in. `is_provisioned` is null for a request that was canceled
-- after it had been provisioned. The function is volatile, so that the statements after the lock see what others committed during the wait. Its
-- plans are generic, because planning takes longer than execution.
CREATE OR REPLACE FUNCTION open_changes_of_people(people uuid[], of_groups boolean)
RETURNS TABLE (identity_id uuid, request_id uuid, number bigint, is_provisioned boolean, action text, items uuid[], application_id uuid, header text,
               section text, permission text, initial_access text, access text, holder text, is_group boolean)
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    PERFORM take_turns('person', people::text[]);
    RETURN QUERY SELECT r.identity_id, r.id, r.number, nullif(turn_of(r), 0) = -1, r.action,
            ARRAY(SELECT t.item_id FROM related_items t WHERE t.request_id = r.id), r.application_id, p.header, p.section, p.permission,
            p.initial_access, coalesce(p.lowered_access, p.requested_access), r.target_name, false
        FROM access_requests r JOIN privileges p ON p.request_id = r.id WHERE r.identity_id = ANY (people) AND is_unshown(r);
    -- Requests about an account of these people, but for another person. The collation is that of the index on access_requests.
    RETURN QUERY SELECT a.identity_id, r.id, r.number, nullif(turn_of(r), 0) = -1, r.action,
            ARRAY(SELECT t.item_id FROM related_items t WHERE t.request_id = r.id), r.application_id, p.header, p.section, p.permission,
            p.initial_access, coalesce(p.lowered_access, p.requested_access), r.target_name, false
        FROM accounts a JOIN access_requests r ON r.application_id = a.application_id AND r.target_name = a.username COLLATE "default"
        JOIN privileges p ON p.request_id = r.id
        WHERE a.identity_id = ANY (people) AND r.identity_id <> a.identity_id AND is_unshown(r);
    IF of_groups THEN
        -- Use a LEFT JOIN, because a request to remove or suspend a group itself has no privileges.
        RETURN QUERY SELECT a.identity_id, r.id, r.number, nullif(turn_of(r), 0) = -1, r.action, '{}'::uuid[], r.application_id, p.header, coalesce(p.section, ''),
                coalesce(p.permission, r.target_name), coalesce(p.initial_access, 'Grant'), coalesce(p.lowered_access, p.requested_access, 'None'),
                r.target_name, true
            FROM accounts a JOIN memberships m ON m.account_number = a.number AND m.until_import IS NULL
            CROSS JOIN LATERAL groups_above(ARRAY[m.group_number], now_import()) AS w JOIN groups g ON g.number = w.above
            JOIN access_requests r ON r.application_id = g.application_id AND r.target_name = g.name AND r.identity_id IS NULL AND is_unshown(r)
            LEFT JOIN privileges p ON p.request_id = r.id
            WHERE a.identity_id = ANY (people) AND (p.request_id IS NOT NULL OR r.action IN ('Remove', 'Suspend'));
    END IF;
END $$;

-- Return whether a request with this status is not provisioned yet, so that another check can still stop it.
CREATE OR REPLACE FUNCTION is_to_recheck(status text) RETURNS boolean IMMUTABLE LANGUAGE sql RETURN status IN ('Pending', 'Scheduled', 'Open', 'Snoozed');

-- Queue people for another check if they have requests that are not provisioned yet, in these applications or, if `there` is null, in any. A
-- null person means requests about groups.
CREATE OR REPLACE FUNCTION recheck_requests(there uuid[]) RETURNS void LANGUAGE sql BEGIN ATOMIC
    INSERT INTO people_to_recheck (identity_id) SELECT DISTINCT r.identity_id FROM access_requests r
    WHERE is_to_recheck(r.status) AND (there IS NULL OR r.application_id = ANY (there));
END;

-- Queue all requests for another check after a rule, the patterns of a duty, or the name of an application or entitlement changed.
CREATE OR REPLACE FUNCTION recheck_all_requests() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM recheck_requests(NULL);
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER recheck_requests AFTER UPDATE OF definition ON duty_rules FOR EACH ROW
    WHEN (OLD.definition IS DISTINCT FROM NEW.definition) EXECUTE FUNCTION recheck_all_requests();
CREATE OR REPLACE TRIGGER recheck_requests AFTER UPDATE OF patterns ON duties FOR EACH ROW
    WHEN (OLD.patterns IS DISTINCT FROM NEW.patterns) EXECUTE FUNCTION recheck_all_requests();
CREATE OR REPLACE TRIGGER recheck_requests AFTER UPDATE OF name ON applications FOR EACH ROW
    WHEN (OLD.name <> NEW.name) EXECUTE FUNCTION recheck_all_requests();
CREATE OR REPLACE TRIGGER recheck_requests AFTER UPDATE OF same_as ON curations FOR EACH ROW
    WHEN (OLD.same_as IS DISTINCT FROM NEW.same_as) EXECUTE FUNCTION recheck_all_requests();

-- Queue requests for another check after groups began to give duties or no longer give control duties, because requests may add people to
-- these groups.
CREATE OR REPLACE FUNCTION recheck_requests_of_groups() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    there uuid[] := ARRAY(SELECT DISTINCT g.application_id FROM changed_rows n JOIN groups g ON g.number = n.group_number
                          WHERE TG_OP = 'INSERT' OR n.duty_id IN (SELECT d.duty_id FROM duty_rule_duties d WHERE d.is_control));
BEGIN
    IF cardinality(there) > 0 THEN
        PERFORM recheck_requests(there);
    END IF;
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER recheck_requests AFTER INSERT ON duty_groups REFERENCING NEW TABLE AS changed_rows
    FOR EACH STATEMENT EXECUTE FUNCTION recheck_requests_of_groups();
CREATE OR REPLACE TRIGGER recheck_requests_on_delete AFTER DELETE ON duty_groups REFERENCING OLD TABLE AS changed_rows
    FOR EACH STATEMENT EXECUTE FUNCTION recheck_requests_of_groups();

-- Queue requests for another check after people got or lost duties: the requests of these people, and requests about groups, because the
-- people may be members.
CREATE OR REPLACE FUNCTION recheck_requests_of_holders() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    -- Look for requests to check before reading the changed rows, which may be as many as there are people.
    IF EXISTS (SELECT FROM access_requests r WHERE is_to_recheck(r.status)) THEN
        INSERT INTO people_to_recheck (identity_id) SELECT DISTINCT r.identity_id FROM access_requests r
        WHERE is_to_recheck(r.status) AND (r.identity_id IS NULL OR r.identity_id IN (SELECT h.identity_id FROM changed_rows h));
    END IF;
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER recheck_requests_on_insert AFTER INSERT ON duty_holders REFERENCING NEW TABLE AS changed_rows
    FOR EACH STATEMENT EXECUTE FUNCTION recheck_requests_of_holders();
CREATE OR REPLACE TRIGGER recheck_requests_on_delete AFTER DELETE ON duty_holders REFERENCING OLD TABLE AS changed_rows
    FOR EACH STATEMENT EXECUTE FUNCTION recheck_requests_of_holders();

-- Queue requests for another check after the owners of accounts changed: requests of the former and new owners, requests about these accounts,
-- and all requests about groups.
CREATE OR REPLACE FUNCTION recheck_requests_of_matches() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM access_requests r WHERE is_to_recheck(r.status)) THEN
        INSERT INTO people_to_recheck (identity_id)
        WITH moved AS MATERIALIZED (
            (SELECT application_id, username, identity_id FROM old_rows EXCEPT SELECT application_id, username, identity_id FROM new_rows)
            UNION ALL
            (SELECT application_id, username, identity_id FROM new_rows EXCEPT SELECT application_id, username, identity_id FROM old_rows))
        SELECT DISTINCT r.identity_id FROM access_requests r
        WHERE is_to_recheck(r.status)
              AND (r.identity_id IS NULL AND EXISTS (SELECT FROM moved)
                   OR r.identity_id IN (SELECT m.identity_id FROM moved m WHERE m.identity_id IS NOT NULL)
                   OR r.identity_id IS NOT NULL AND (r.application_id, r.target_name) IN (SELECT m.application_id, m.username FROM moved m));
    END IF;
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER recheck_requests AFTER UPDATE ON accounts REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION recheck_requests_of_matches();

-- Return whether a request, or another request of the same related item (such as a personnel event), removes or lowers access.
CREATE OR REPLACE FUNCTION counts_on_removals(request uuid) RETURNS boolean STABLE LANGUAGE sql RETURN EXISTS (
    SELECT FROM privileges p
    WHERE (p.request_id = request OR p.request_id IN (
              SELECT o.request_id FROM related_items t JOIN related_items o ON o.item_id = t.item_id WHERE t.request_id = request))
          AND access_rank(coalesce(p.lowered_access, p.requested_access)) < access_rank(p.initial_access));

-- Return whether a request could raise access now, although it needed no approval because it did not raise access at first: the
-- access of its target may have been lowered since (access_requests/opening.py).
CREATE OR REPLACE FUNCTION can_be_overtaken(r access_requests) RETURNS boolean STABLE LANGUAGE sql RETURN
    r.action IN ('Change', 'Remove', 'Suspend')
    AND NOT EXISTS (SELECT FROM responses a WHERE a.request_id = r.id AND a.type = 'Approve')
    AND EXISTS (SELECT FROM privileges p WHERE p.request_id = r.id AND p.approved_access <> 'None');

-- Queue requests for another check after an import, which may show that groups have new members, that a completed or canceled request was
-- not carried out, that the access of people whose requests remove access (counts_on_removals) has changed, or that open requests would raise
-- access.
CREATE OR REPLACE FUNCTION recheck_requests_after_import() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO people_to_recheck (identity_id) SELECT NULL WHERE EXISTS (
        SELECT FROM access_requests r WHERE r.application_id = NEW.application_id AND is_to_recheck(r.status) AND r.identity_id IS NULL);
    INSERT INTO people_to_recheck (identity_id) SELECT DISTINCT r.identity_id FROM access_requests r
    WHERE is_to_recheck(r.status) AND EXISTS (
        SELECT FROM access_requests c WHERE c.identity_id = r.identity_id AND c.application_id = NEW.application_id
               AND has_changed_access(c) AND ended_on(c) <= NEW.created_at AND is_shown(c, NULL) AND NOT is_shown(c, NEW.number));
    INSERT INTO people_to_recheck (identity_id) SELECT DISTINCT r.identity_id
    FROM access_requests r JOIN accounts a ON a.identity_id = r.identity_id AND a.application_id = NEW.application_id
    WHERE is_to_recheck(r.status) AND counts_on_removals(r.id) AND EXISTS (SELECT FROM duty_rule_duties);
    INSERT INTO people_to_recheck (identity_id) SELECT DISTINCT r.identity_id FROM access_requests r
    WHERE r.application_id = NEW.application_id AND r.status = 'Open' AND r.identity_id IS NOT NULL AND can_be_overtaken(r);
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER recheck_requests AFTER UPDATE OF status ON application_imports FOR EACH ROW
    WHEN (NEW.status = 'Finished' AND OLD.status <> 'Finished') EXECUTE FUNCTION recheck_requests_after_import();

-- Queue the requests of a related item (such as a personnel event) for another check after the status of one request changed, because the
-- checks of the other requests may rely on what it removes.
CREATE OR REPLACE FUNCTION recheck_requests_of_event() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM duty_rule_duties) THEN
        INSERT INTO people_to_recheck (identity_id)
        SELECT DISTINCT moved.identity_id FROM (SELECT id, status, identity_id FROM new_rows EXCEPT SELECT id, status, identity_id FROM old_rows) AS moved
        WHERE moved.identity_id IS NOT NULL AND moved.status IN ('Open', 'Resolved', 'Completed', 'Canceled')
              AND EXISTS (SELECT FROM related_items t JOIN related_items o ON o.item_id = t.item_id JOIN access_requests r ON r.id = o.request_id
                          WHERE t.request_id = moved.id AND r.id <> moved.id AND is_to_recheck(r.status));
    END IF;
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER recheck_requests AFTER UPDATE ON access_requests REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION recheck_requests_of_event();

CALL keep_list('access_requests', 'application_id', 'status', 'action');
CALL keep_list('waiting_requests');
-- Audit entries contain `is_whole`: whether a Remove or Suspend is about the account or group itself, not only about the listed privileges.
CALL keep_audit('access_requests', '''Access Request''', 'r.id', $$to_jsonb(r) - '{id,list_key,status_since}'::text[]$$,
    name => $$'#' || r.number$$);
CALL keep_audit('privileges', '''Access Request''', 'r.request_id', $$to_jsonb(r) - '{request_id,position}'::text[]$$, $$'privileges.' || r.position$$);
CALL keep_audit('request_conflicts', '''Access Request''', 'r.request_id', $$to_jsonb(r) - '{request_id}'::text[]$$, $$'conflicts.' || r.rule$$);
CALL keep_audit('responses', '''Access Request''', 'r.request_id', $$to_jsonb(r) - '{request_id,type,rule,position}'::text[]$$,
                $$concat_ws('.', 'responses', r.type, r.rule, r.position)$$);
CALL keep_audit('related_items', '''Access Request''', 'r.request_id', $$jsonb_build_object('kind', r.kind, 'number', r.number, 'stage', r.stage)$$,
                $$'relatedItems.' || r.item_id$$);
