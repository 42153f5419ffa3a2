-- Update who holds which duty, and who is in conflict, after imports, matches, and changes of duties and rules.
--
-- UPDATE of application_imports to Finished fires `watch_duties`. Triggers fire in the order of their names, so that `show_entitlements`
-- (schema/entitlements.sql) runs before `watch_duties`. UPDATE of accounts fires `note_to_evaluate`, which queues the people who gained or
-- lost an account; duties/actions.py evaluates them within a second. UPDATE of identities fires `move_duty_holders`. UPDATE of an
-- application's name fires `keep_former_name` and `match_renamed`. UPDATE of its is_archived fires `evaluate_archived`. UPDATE of an
-- entitlement's sameAs fires `match_same_entitlements`.
--
-- Each statement serves all people at once, because one function call for each person would take minutes. `record_ends`
-- (schema/conflicts.sql) records conflicts that ended although the imported access did not change, for example because a rule changed. The
-- *sides* of a conflict are the duties that the person holds, each with the access that gives it.

-- Convert a pattern with `*` to a LIKE pattern that ignores case; null matches everything.
CREATE OR REPLACE FUNCTION like_wildcard(wildcard text) RETURNS text IMMUTABLE PARALLEL SAFE LANGUAGE sql RETURN
    coalesce(replace(replace(replace(replace(in_any_case(wildcard), '\', '\\'), '%', '\%'), '_', '\_'), '*', '%'), '%');

-- Normalize a name to what it looks like: ignore case, white space and invisible characters, and replace look-alike letters with Latin letters.
CREATE OR REPLACE FUNCTION look_of(name text) RETURNS text IMMUTABLE PARALLEL SAFE LANGUAGE sql RETURN
    regexp_replace(username_skeleton(name), '[\s' || zero_width() || ']+', '', 'g');

-- Return whether a pattern matches a name, or a name that looks the same (look_of). A null pattern matches everything.
CREATE OR REPLACE FUNCTION looks_like(name text, wildcard text) RETURNS boolean IMMUTABLE PARALLEL SAFE LANGUAGE sql RETURN
    look_of(name) LIKE like_wildcard(look_of(wildcard));

-- Return the current and former names of applications, normalized to ignore case.
CREATE OR REPLACE FUNCTION names_of_applications() RETURNS TABLE (id uuid, name text) STABLE LANGUAGE sql BEGIN ATOMIC
    SELECT a.id, in_any_case(n) FROM applications a CROSS JOIN LATERAL unnest(a.former_names || a.name) AS n;
END;

-- Return the entitlements that patterns match, each with the index of its pattern (`place`). A pattern may match a current or a former name
-- of the entitlement (sameAs) and of its application. If `shown_first` is not null, match only the entitlements that are new in this
-- import. Names without `*` are joined by equality, so that a hash join serves hundreds of patterns and thousands of names.
CREATE OR REPLACE FUNCTION entitlements_matching(patterns jsonb, shown_first int)
RETURNS TABLE (place int, kind text, number int, lowest int) STABLE LANGUAGE sql BEGIN ATOMIC
    WITH RECURSIVE asked AS MATERIALIZED (
        SELECT (n - 1)::int AS place, CASE WHEN p ->> 'group' IS NULL THEN 'Permission' ELSE 'Group' END AS kind,
               like_wildcard(p ->> 'application') AS application, like_wildcard(p ->> 'header') AS header,
               like_wildcard(p ->> 'section') AS section, like_wildcard(coalesce(p ->> 'group', p ->> 'permission')) AS name,
               CASE WHEN strpos(coalesce(p ->> 'group', p ->> 'permission'), '*') = 0
                    THEN in_any_case(coalesce(p ->> 'group', p ->> 'permission')) END AS exact,
               access_rank(coalesce(p ->> 'access', 'Grant')) AS lowest
        FROM jsonb_array_elements(patterns) WITH ORDINALITY AS e (p, n)
    ), named AS MATERIALIZED (
        SELECT e.id, e.kind, o.name AS application, in_any_case(e.header) AS header, in_any_case(e.section) AS section,
               in_any_case(e.name) AS name
        FROM entitlements e JOIN names_of_applications() AS o ON o.id = e.application_id WHERE shown_first IS NULL OR e.first_import = shown_first
    ), found AS (
        SELECT a.place, a.lowest, a.application AS there, a.header AS above, a.section AS within, n.* FROM asked a
        JOIN named n ON n.kind = a.kind AND n.name = a.exact
        UNION ALL
        SELECT a.place, a.lowest, a.application, a.header, a.section, n.* FROM asked a
        JOIN named n ON n.kind = a.kind AND n.name LIKE a.name WHERE a.exact IS NULL
    ), renamed AS MATERIALIZED (
        SELECT c.entitlement_id, c.same_as FROM curations c WHERE c.same_as IS NOT NULL
    ), fitting (place, lowest, id) AS (
        SELECT f.place, f.lowest, f.id FROM found f
        WHERE f.application LIKE f.there AND (f.kind = 'Group' OR f.header LIKE f.above AND f.section LIKE f.within)
        UNION
        -- Add the entitlements that curators marked as the same (sameAs), in both directions.
        SELECT f.place, f.lowest, CASE WHEN c.same_as = f.id THEN c.entitlement_id ELSE c.same_as END
        FROM fitting f JOIN renamed c ON f.id IN (c.entitlement_id, c.same_as)
    )
    SELECT f.place, e.kind, e.number, f.lowest FROM fitting f JOIN entitlements e ON e.id = f.id;
END;

-- Return the entitlements that the patterns of these duties match, with the lowest access that gives the duty.
CREATE OR REPLACE FUNCTION entitlements_of_duties(which uuid[], shown_first int)
RETURNS TABLE (duty_id uuid, kind text, number int, lowest int) STABLE LANGUAGE sql BEGIN ATOMIC
    WITH asked AS MATERIALIZED (
        SELECT d.id, p.pattern, row_number() OVER () - 1 AS place
        FROM duties d CROSS JOIN LATERAL jsonb_array_elements(d.patterns) AS p (pattern) WHERE d.id = ANY (which)
    )
    SELECT a.id, m.kind, m.number, min(m.lowest)
    FROM entitlements_matching((SELECT coalesce(jsonb_agg(a.pattern ORDER BY a.place), '[]') FROM asked a), shown_first) AS m
    JOIN asked a ON a.place = m.place GROUP BY a.id, m.kind, m.number;
END;

-- Return the groups of these applications that give their members at least one of these duties now, with those duties.
CREATE OR REPLACE FUNCTION groups_with_duties(which uuid[], there uuid[])
RETURNS TABLE (duty_id uuid, group_number int) STABLE LANGUAGE sql BEGIN ATOMIC
    WITH RECURSIVE parents AS MATERIALIZED (
        SELECT p.child, p.parent FROM current_parents(there) AS p
    ), own AS MATERIALIZED (
        SELECT e.duty_id, g.number FROM duty_entitlements e JOIN groups g ON g.number = e.number
        WHERE e.kind = 'Group' AND e.duty_id = ANY (which) AND g.application_id = ANY (there)
        UNION
        SELECT e.duty_id, g.number FROM groups g JOIN assignments s ON s.holder_number = g.number AND s.until_import IS NULL
        JOIN duty_entitlements e ON e.kind = 'Permission' AND e.number = s.permission_number AND e.duty_id = ANY (which)
        WHERE g.application_id = ANY (there) AND s.access NOT IN ('None', 'Deny') AND access_rank(s.access::text) >= e.lowest
    ), carried (duty_id, number) AS (
        SELECT own.duty_id, own.number FROM own
        UNION
        SELECT c.duty_id, p.child FROM carried c JOIN parents p ON p.parent = c.number
    )
    SELECT c.duty_id, c.number FROM carried c;
END;

-- Update duty_groups; return the groups whose members gained or lost a duty.
CREATE OR REPLACE FUNCTION refresh_duty_groups(which uuid[], there uuid[]) RETURNS int[] LANGUAGE plpgsql AS $$
DECLARE
    changed int[];
BEGIN
    WITH now AS MATERIALIZED (
        SELECT g.duty_id, g.group_number FROM groups_with_duties(which, there) AS g
    ), before AS MATERIALIZED (
        SELECT d.duty_id, d.group_number FROM duty_groups d JOIN groups g ON g.number = d.group_number
        WHERE d.duty_id = ANY (which) AND g.application_id = ANY (there)
    ), gone AS (
        DELETE FROM duty_groups d USING (TABLE before EXCEPT TABLE now) AS x
        WHERE d.duty_id = x.duty_id AND d.group_number = x.group_number RETURNING d.group_number
    ), came AS (
        INSERT INTO duty_groups (duty_id, group_number) (TABLE now EXCEPT TABLE before) RETURNING group_number
    )
    SELECT array_agg(DISTINCT c.group_number) INTO changed FROM (TABLE gone UNION ALL TABLE came) AS c;
    RETURN coalesce(changed, '{}');
END $$;

-- Return whether so many assignments give these duties that a scan is faster than an index lookup for each assignment.
CREATE OR REPLACE FUNCTION are_held_widely(which uuid[]) RETURNS boolean STABLE LANGUAGE sql RETURN
    (SELECT coalesce(sum(cardinality(h.holders)), 0) FROM permission_holders h
     WHERE h.permission_number IN (SELECT e.number FROM duty_entitlements e WHERE e.kind = 'Permission' AND e.duty_id = ANY (which)))
    > (SELECT c.reltuples / 50 FROM pg_class c WHERE c.oid = 'assignments'::regclass);

-- Update duty_holders for these people and duties; null means all. Access in archived applications gives no duty.
CREATE OR REPLACE FUNCTION refresh_duty_holders(people uuid[], which uuid[]) RETURNS void LANGUAGE plpgsql SET work_mem = '64MB' AS $$
DECLARE
    stale_duties uuid[];
    stale_people uuid[];
    fresh_duties uuid[];
    fresh_people uuid[];
    meant text := CASE WHEN people IS NULL THEN 'true' ELSE 'identity_id = ANY ($1)' END
                  || CASE WHEN which IS NULL THEN '' ELSE ' AND duty_id = ANY ($2)' END;
    archived uuid[] := ARRAY(SELECT id FROM applications WHERE is_archived);
    live text := CASE WHEN cardinality(archived) > 0 THEN ' AND a.application_id <> ALL ($3)' ELSE '' END;
    assigned text := CASE WHEN people IS NULL AND NOT are_held_widely(which) THEN 'CROSS JOIN LATERAL assignments_of(e.number, now_import()) AS s'
                          ELSE 'JOIN assignments s ON s.permission_number = e.number' END;
BEGIN
    -- Use EXECUTE, so that the statement is planned each time: the best plan for one person is not the best for all.
    EXECUTE format($sql$
        WITH held AS MATERIALIZED (
            SELECT e.duty_id, a.identity_id FROM duty_entitlements e %2$s JOIN accounts a ON a.number = s.holder_number
            WHERE e.kind = 'Permission' AND s.until_import IS NULL AND a.identity_id IS NOT NULL
                  AND s.access NOT IN ('None', 'Deny') AND access_rank(s.access::text) >= e.lowest AND %1$s%3$s
            UNION
            SELECT g.duty_id, a.identity_id FROM accounts a JOIN memberships m ON m.account_number = a.number AND m.until_import IS NULL
            JOIN duty_groups g ON g.group_number = m.group_number WHERE a.identity_id IS NOT NULL AND %1$s%3$s
        ), present AS MATERIALIZED (
            SELECT duty_id, identity_id FROM duty_holders WHERE %1$s
        ), stale AS (TABLE present EXCEPT TABLE held), fresh AS (TABLE held EXCEPT TABLE present)
        SELECT * FROM (SELECT array_agg(duty_id), array_agg(identity_id) FROM stale) AS s,
                      (SELECT array_agg(duty_id), array_agg(identity_id) FROM fresh) AS f
    $sql$, meant, assigned, live) INTO stale_duties, stale_people, fresh_duties, fresh_people USING people, which, archived;
    -- Use one statement for each kind of change (docs/lists.md explains why).
    IF stale_duties IS NOT NULL THEN
        DELETE FROM duty_holders h USING unnest(stale_duties, stale_people) AS s (duty_id, identity_id)
        WHERE h.duty_id = s.duty_id AND h.identity_id = s.identity_id;
    END IF;
    IF fresh_duties IS NOT NULL THEN
        INSERT INTO duty_holders (duty_id, identity_id, list_key)
        SELECT f.duty_id, f.identity_id, i.list_key
        FROM unnest(fresh_duties, fresh_people) AS f (duty_id, identity_id) JOIN identities i ON i.id = f.identity_id;
    END IF;
END $$;

-- Return the entitlements that gave duties to accounts at any time, according to the current patterns. `path` lists the groups that the
-- access comes through, beginning with the group that the account is in; it is empty for direct access.
CREATE OR REPLACE FUNCTION duty_holdings(which uuid[], accounts int[])
RETURNS TABLE (account int, duty_id uuid, kind text, number int, path int[], access text, during int4range) STABLE LANGUAGE sql BEGIN ATOMIC
    WITH meant AS MATERIALIZED (
        SELECT e.duty_id, e.kind, e.number, e.lowest FROM duty_entitlements e WHERE e.duty_id = ANY (which)
    ), joined AS MATERIALIZED (
        SELECT m.account_number, m.group_number, int4range(m.from_import, m.until_import) AS during FROM memberships m
        WHERE m.account_number = ANY (accounts)
    ), walked AS MATERIALIZED (
        SELECT j.account_number, w.above, w.path, j.during * w.during AS during
        FROM joined j JOIN groups_above(ARRAY(SELECT DISTINCT j.group_number FROM joined j), NULL) AS w ON w.number = j.group_number
        WHERE j.during && w.during
    )
    SELECT s.holder_number, e.duty_id, e.kind, e.number, '{}'::int[], s.access::text, int4range(s.from_import, s.until_import)
    FROM assignments s JOIN meant e ON e.kind = 'Permission' AND e.number = s.permission_number
    WHERE s.holder_number = ANY (accounts) AND s.access NOT IN ('None', 'Deny') AND access_rank(s.access::text) >= e.lowest
    UNION ALL
    SELECT w.account_number, e.duty_id, e.kind, e.number, w.path, 'Grant', w.during
    FROM walked w JOIN meant e ON e.kind = 'Group' AND e.number = w.above
    UNION ALL
    SELECT w.account_number, e.duty_id, e.kind, e.number, w.path || w.above, s.access::text, w.during * int4range(s.from_import, s.until_import)
    FROM walked w JOIN assignments s ON s.holder_number = w.above
    JOIN meant e ON e.kind = 'Permission' AND e.number = s.permission_number
    WHERE w.during && int4range(s.from_import, s.until_import) AND s.access NOT IN ('None', 'Deny') AND access_rank(s.access::text) >= e.lowest;
END;

-- Return when people held duties, computed from imports and from the matches at each time, as match_then (schema/accounts.sql) finds them.
CREATE OR REPLACE FUNCTION duty_spans(which uuid[], people uuid[])
RETURNS TABLE (duty_id uuid, identity_id uuid, during tstzmultirange) STABLE LANGUAGE sql BEGIN ATOMIC
    WITH owned AS MATERIALIZED (
        SELECT a.number, a.identity_id, tstzmultirange(tstzrange(
                   CASE WHEN a.pin IS NULL AND EXISTS (SELECT FROM past_matches m WHERE m.account_number = a.number) THEN a.matched_on END, NULL)) AS during
        FROM accounts a WHERE a.identity_id = ANY (people)
        UNION ALL
        SELECT m.account_number, m.identity_id, tstzmultirange(tstzrange(CASE WHEN EXISTS (
                   SELECT FROM past_matches f WHERE f.account_number = m.account_number AND f.since < m.since) THEN m.since END, m.until))
        FROM past_matches m JOIN accounts a ON a.number = m.account_number WHERE m.identity_id = ANY (people) AND a.pin IS NULL
    ), merged AS (
        -- Aggregate once for each account and duty, before import numbers become dates.
        SELECT h.account, h.duty_id, unnest(range_agg(h.during)) AS during
        FROM duty_holdings(which, ARRAY(SELECT DISTINCT o.number FROM owned o)) AS h GROUP BY h.account, h.duty_id
    )
    SELECT m.duty_id, o.identity_id, range_agg(tstzmultirange(tstzrange(began.build_end, ended.build_end)) * o.during)
    FROM merged m JOIN owned o ON o.number = m.account
    JOIN application_imports began ON began.number = lower(m.during)
    LEFT JOIN application_imports ended ON ended.number = upper(m.during)
    GROUP BY m.duty_id, o.identity_id;
END;

-- Return the access that gave people duties at `moment` or, if it is null, that gives them duties now.
CREATE OR REPLACE FUNCTION duty_access(which uuid[], people uuid[], moment timestamptz)
RETURNS TABLE (identity_id uuid, duty_id uuid, account int, kind text, number int, path int[], access text, during int4range)
STABLE LANGUAGE sql BEGIN ATOMIC
    WITH owned AS MATERIALIZED (
        SELECT a.number, CASE WHEN moment IS NULL THEN a.identity_id ELSE identity_then(a, moment) END AS identity_id, last.number AS import_number
        FROM accounts a CROSS JOIN LATERAL (
            SELECT max(r.number)::int AS number FROM application_imports r
            WHERE r.application_id = a.application_id AND r.status = 'Finished' AND (moment IS NULL OR r.build_end <= moment)) AS last
        WHERE (a.identity_id = ANY (people) OR a.number IN (SELECT m.account_number FROM past_matches m WHERE m.identity_id = ANY (people)))
              AND (moment IS NOT NULL OR NOT EXISTS (SELECT FROM applications o WHERE o.id = a.application_id AND o.is_archived))
    ), held AS (
        SELECT h.account, h.duty_id, h.kind, h.number, h.path, h.access, unnest(range_agg(h.during)) AS during
        FROM duty_holdings(which, ARRAY(SELECT o.number FROM owned o)) AS h GROUP BY h.account, h.duty_id, h.kind, h.number, h.path, h.access
    )
    SELECT o.identity_id, h.duty_id, h.account, h.kind, h.number, h.path, h.access, h.during
    FROM held h JOIN owned o ON o.number = h.account WHERE h.during @> o.import_number AND o.identity_id = ANY (people);
END;

-- Return whether a person is in conflict: they hold several of the duties that a rule keeps apart, but not its control duty.
-- RuleDefinition.joined (duties/model.py) decides the same for requested access.
CREATE OR REPLACE FUNCTION is_conflict(apart bigint, controls bigint) RETURNS boolean IMMUTABLE PARALLEL SAFE LANGUAGE sql
    RETURN apart > 1 AND controls = 0;

-- For each of these pairs of rule and person, return when the current conflict began: the first moment with a conflict after the last moment
-- without one.
CREATE OR REPLACE FUNCTION conflict_starts(rules uuid[], people uuid[])
RETURNS TABLE (rule_id uuid, identity_id uuid, since timestamptz) STABLE LANGUAGE sql BEGIN ATOMIC
    WITH asked AS MATERIALIZED (
        SELECT DISTINCT u.rule_id, u.identity_id FROM unnest(rules, people) AS u (rule_id, identity_id)
    ), spans AS MATERIALIZED (
        SELECT s.duty_id, s.identity_id, s.during FROM duty_spans(
            ARRAY(SELECT DISTINCT d.duty_id FROM duty_rule_duties d WHERE d.rule_id = ANY (rules)), ARRAY(SELECT DISTINCT a.identity_id FROM asked a)) AS s
    ), mine AS MATERIALIZED (
        SELECT a.rule_id, a.identity_id, d.is_control, s.during
        FROM asked a JOIN duty_rule_duties d ON d.rule_id = a.rule_id JOIN spans s ON s.duty_id = d.duty_id AND s.identity_id = a.identity_id
    ), moments AS MATERIALIZED (
        SELECT DISTINCT m.rule_id, m.identity_id, t.moment FROM mine m CROSS JOIN LATERAL unnest(m.during) AS r
        CROSS JOIN LATERAL (VALUES (lower(r)), (upper(r))) AS t (moment) WHERE t.moment IS NOT NULL
    ), states AS MATERIALIZED (
        SELECT t.rule_id, t.identity_id, t.moment, is_conflict(
                   count(*) FILTER (WHERE NOT m.is_control AND m.during @> t.moment), count(*) FILTER (WHERE m.is_control AND m.during @> t.moment)) AS holds
        FROM moments t JOIN mine m ON m.rule_id = t.rule_id AND m.identity_id = t.identity_id GROUP BY t.rule_id, t.identity_id, t.moment
    ), judged AS (
        -- Use a window function instead of a self-join of `states`, for which the planner chooses a nested loop.
        SELECT s.rule_id, s.identity_id, s.moment, s.holds,
               max(s.moment) FILTER (WHERE NOT s.holds) OVER (PARTITION BY s.rule_id, s.identity_id) AS last_without
        FROM states s
    )
    SELECT j.rule_id, j.identity_id, min(j.moment) FROM judged j
    WHERE j.holds AND (j.last_without IS NULL OR j.moment > j.last_without) GROUP BY j.rule_id, j.identity_id;
END;

-- Update conflicts for these people and rules; null means all. A conflict that no longer exists ends at `moment`, with the import if one is
-- given. A new conflict begins when the person got the access, but not before the end of an earlier conflict of the same rule and person.
CREATE OR REPLACE FUNCTION refresh_conflicts(people uuid[], rules uuid[], moment timestamptz, import_number int) RETURNS void LANGUAGE plpgsql
SET work_mem = '64MB' AS $$
DECLARE
    stale_rules uuid[];
    stale_people uuid[];
    fresh_rules uuid[];
    fresh_people uuid[];
    meant text := CASE WHEN people IS NULL THEN 'true' ELSE 'identity_id = ANY ($1)' END
                  || CASE WHEN rules IS NULL THEN '' ELSE ' AND rule_id = ANY ($2)' END;
BEGIN
    EXECUTE format($sql$
        WITH found AS MATERIALIZED (
            SELECT r.rule_id, h.identity_id FROM duty_rule_duties r JOIN duty_holders h USING (duty_id)
            -- Exclude most people early, because they hold at most one duty.
            WHERE %1$s AND identity_id IN (SELECT o.identity_id FROM duty_holders o WHERE %2$s GROUP BY o.identity_id HAVING count(*) > 1)
            GROUP BY r.rule_id, h.identity_id
            HAVING is_conflict(count(*) FILTER (WHERE NOT r.is_control), count(*) FILTER (WHERE r.is_control))
        ), present AS MATERIALIZED (
            SELECT rule_id, identity_id FROM conflicts WHERE until IS NULL AND %1$s
        ), stale AS (TABLE present EXCEPT TABLE found), fresh AS (TABLE found EXCEPT TABLE present)
        SELECT * FROM (SELECT array_agg(rule_id), array_agg(identity_id) FROM stale) AS s,
                      (SELECT array_agg(rule_id), array_agg(identity_id) FROM fresh) AS f
    $sql$, meant, CASE WHEN people IS NULL THEN 'true' ELSE 'o.identity_id = ANY ($1)' END) INTO stale_rules, stale_people, fresh_rules, fresh_people USING people, rules;
    IF stale_rules IS NOT NULL THEN
        UPDATE conflicts c SET until = greatest(moment, c.since), until_import = import_number, status = 'Ended'
        FROM unnest(stale_rules, stale_people) AS s (rule_id, identity_id)
        WHERE c.rule_id = s.rule_id AND c.identity_id = s.identity_id AND c.until IS NULL;
    END IF;
    IF fresh_rules IS NOT NULL THEN
        -- Fires except_conflicts (schema/conflicts.sql) and notify_of_conflicts (schema/notifications.sql).
        INSERT INTO conflicts (rule_id, identity_id, since, since_import, found_on)
        SELECT f.rule_id, f.identity_id, began.since,
               (SELECT max(r.number)::int FROM application_imports r WHERE r.build_end = began.since AND r.status = 'Finished'), moment
        FROM unnest(fresh_rules, fresh_people) AS f (rule_id, identity_id)
        LEFT JOIN conflict_starts(fresh_rules, fresh_people) AS s ON s.rule_id = f.rule_id AND s.identity_id = f.identity_id
        LEFT JOIN LATERAL (SELECT max(c.until) AS until FROM conflicts c WHERE c.rule_id = f.rule_id AND c.identity_id = f.identity_id) AS last ON true
        CROSS JOIN LATERAL (SELECT greatest(coalesce(s.since, moment), last.until) AS since) AS began
        ORDER BY began.since, f.rule_id, f.identity_id;
    END IF;
END $$;

-- Return the people for whom an import changed access that gives duties, including the members of `changed_groups`.
CREATE OR REPLACE FUNCTION people_touched(import_number int, changed_groups int[]) RETURNS uuid[] STABLE LANGUAGE sql BEGIN ATOMIC
    WITH members AS (
        SELECT m.account_number, m.group_number FROM memberships m WHERE m.from_import = import_number
        UNION ALL SELECT m.account_number, m.group_number FROM memberships m WHERE m.until_import = import_number
    ), assigned AS (
        SELECT s.holder_number, s.permission_number FROM assignments s WHERE s.from_import = import_number
        UNION ALL SELECT s.holder_number, s.permission_number FROM assignments s WHERE s.until_import = import_number
    ), touched AS (
        SELECT m.account_number AS number FROM members m
        WHERE m.group_number = ANY (changed_groups) OR m.group_number IN (SELECT d.group_number FROM duty_groups d)
        UNION
        SELECT s.holder_number FROM assigned s
        WHERE s.permission_number IN (SELECT e.number FROM duty_entitlements e WHERE e.kind = 'Permission')
        UNION
        SELECT m.account_number FROM unnest(changed_groups) AS g JOIN memberships m ON m.group_number = g AND m.until_import IS NULL
    )
    SELECT ARRAY(SELECT DISTINCT a.identity_id FROM touched t JOIN accounts a ON a.number = t.number WHERE a.identity_id IS NOT NULL);
END;

-- Empty the queue of people who gained or lost an account, and return these people.
CREATE OR REPLACE FUNCTION take_people_to_evaluate() RETURNS uuid[] LANGUAGE sql BEGIN ATOMIC
    WITH taken AS (DELETE FROM identities_to_evaluate RETURNING identity_id)
    SELECT coalesce(array_agg(DISTINCT taken.identity_id), '{}') FROM taken;
END;

-- Update the duties and conflicts of these people. When a person loses an account, `keep_sides_of_accounts` stores the sides of their current
-- conflicts; if such a conflict ends now, record the lost account as the reason.
CREATE OR REPLACE FUNCTION evaluate_people(people uuid[], moment timestamptz, import_number int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    kept uuid[];
BEGIN
    IF cardinality(people) > 0 THEN
        kept := ARRAY(SELECT c.id FROM conflicts c WHERE c.until IS NULL AND c.identity_id = ANY (people)
                      AND EXISTS (SELECT FROM past_sides p WHERE p.conflict_id = c.id));
        PERFORM refresh_duty_holders(people, NULL);
        PERFORM refresh_conflicts(people, NULL, moment, import_number);
        PERFORM record_ends(kept, 'an account no longer matches the person', moment) WHERE cardinality(kept) > 0;
    END IF;
END $$;

-- After an import, match its new entitlements with the patterns of all duties. Evaluate the people whose access it changed, and the people in
-- the queue.
CREATE OR REPLACE FUNCTION evaluate_import() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    run int := NEW.number::int;
    every uuid[] := ARRAY(SELECT id FROM duties);
    changed int[] := '{}';
BEGIN
    IF cardinality(every) = 0 THEN
        RETURN NULL;
    END IF;
    PERFORM lock_matching();
    INSERT INTO duty_entitlements (duty_id, kind, number, lowest)
    SELECT m.duty_id, m.kind, m.number, m.lowest FROM entitlements_of_duties(every, run) AS m ON CONFLICT DO NOTHING;
    IF EXISTS (SELECT FROM group_versions WHERE from_import = run) OR EXISTS (SELECT FROM group_versions WHERE until_import = run)
       OR EXISTS (SELECT FROM assignments s JOIN groups g ON g.number = s.holder_number WHERE s.from_import = run)
       OR EXISTS (SELECT FROM assignments s JOIN groups g ON g.number = s.holder_number WHERE s.until_import = run) THEN
        changed := refresh_duty_groups(every, ARRAY[NEW.application_id]);
    END IF;
    PERFORM evaluate_people(people_touched(run, changed) || take_people_to_evaluate(), NEW.build_end, run);
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER watch_duties AFTER UPDATE OF status ON application_imports FOR EACH ROW
    WHEN (NEW.status = 'Finished' AND OLD.status <> 'Finished') EXECUTE FUNCTION evaluate_import();

-- Update what the patterns of these duties match, and who holds them.
CREATE OR REPLACE FUNCTION refresh_duties(which uuid[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM duty_entitlements WHERE duty_id = ANY (which);
    INSERT INTO duty_entitlements (duty_id, kind, number, lowest)
    SELECT m.duty_id, m.kind, m.number, m.lowest FROM entitlements_of_duties(which, NULL) AS m;
    -- Without statistics, the planner would look up each holder separately.
    ANALYZE duty_entitlements;
    PERFORM refresh_duty_groups(which, ARRAY(SELECT id FROM applications));
    PERFORM refresh_duty_holders(NULL, which);
END $$;

-- Store the sides of the conflicts of these rules before duties or rules change, unless the sides are already stored. Return the conflicts
-- of these rules that have not ended.
CREATE OR REPLACE FUNCTION keep_sides(rules uuid[]) RETURNS uuid[] LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO past_sides (conflict_id, duty_id, account, kind, number, path, access, during)
    SELECT c.id, h.duty_id, h.account, h.kind, h.number, h.path, h.access, h.during
    FROM (SELECT rule_id, until, array_agg(identity_id) AS people FROM conflicts c
          WHERE rule_id = ANY (rules) AND NOT EXISTS (SELECT FROM past_sides p WHERE p.conflict_id = c.id) GROUP BY rule_id, until) AS m
    CROSS JOIN LATERAL duty_access(ARRAY(SELECT d.duty_id FROM duty_rule_duties d WHERE d.rule_id = m.rule_id AND NOT d.is_control),
                                   m.people, m.until - interval '1 microsecond') AS h
    JOIN conflicts c ON c.rule_id = m.rule_id AND c.identity_id = h.identity_id AND c.until IS NOT DISTINCT FROM m.until;
    RETURN ARRAY(SELECT id FROM conflicts WHERE rule_id = ANY (rules) AND until IS NULL);
END $$;

-- Update holders and conflicts after these duties changed, and record the conflicts that ended.
CREATE OR REPLACE FUNCTION evaluate_duties(which uuid[], moment timestamptz) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    rules uuid[] := ARRAY(SELECT DISTINCT rule_id FROM duty_rule_duties WHERE duty_id = ANY (which));
    before uuid[] := keep_sides(rules);
    names text := (SELECT string_agg(d.name, ', ' ORDER BY d.name_key) FROM duties d WHERE d.id = ANY (which));
BEGIN
    PERFORM refresh_duties(which);
    PERFORM refresh_conflicts(NULL, rules, moment, NULL);
    PERFORM record_ends(before, CASE cardinality(which) WHEN 1 THEN format('what the duty %s covers was changed', names)
                                                        ELSE 'an application or entitlement has another name' END, moment);
END $$;

-- Update conflicts after these rules were committed, and record the conflicts that ended.
CREATE OR REPLACE FUNCTION evaluate_rules(rules uuid[], moment timestamptz) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    before uuid[] := keep_sides(rules);
BEGIN
    PERFORM refresh_rules(rules, moment);
    PERFORM record_ends(before, 'a new version of the rule was committed', moment);
END $$;

-- Update the stored duties of these rules, and who is in conflict.
CREATE OR REPLACE FUNCTION refresh_rules(rules uuid[], moment timestamptz) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM duty_rule_duties WHERE rule_id = ANY (rules);
    INSERT INTO duty_rule_duties (rule_id, duty_id, is_control)
    SELECT r.id, d::uuid, false FROM duty_rules r, jsonb_array_elements_text(r.definition -> 'conflicts') AS d
    WHERE r.id = ANY (rules) AND r.is_in_effect
    UNION ALL
    SELECT r.id, (r.definition ->> 'without')::uuid, true FROM duty_rules r
    WHERE r.id = ANY (rules) AND r.is_in_effect AND r.definition ->> 'without' IS NOT NULL;
    PERFORM refresh_conflicts(NULL, rules, moment, NULL);
END $$;

-- Evaluate all duties, rules and people again.
CREATE OR REPLACE FUNCTION evaluate_everything(moment timestamptz) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM lock_matching();
    PERFORM evaluate_people(take_people_to_evaluate(), moment, NULL);
    PERFORM refresh_duties(ARRAY(SELECT id FROM duties));
    PERFORM refresh_rules(ARRAY(SELECT id FROM duty_rules), moment);
END $$;

-- For people who lost these accounts, store the sides of their current conflicts as they were with the accounts.
CREATE OR REPLACE FUNCTION keep_sides_of_accounts(numbers int[], former uuid[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    kept uuid[] := ARRAY(SELECT c.id FROM conflicts c WHERE c.until IS NULL AND c.identity_id = ANY (former)
                         AND NOT EXISTS (SELECT FROM past_sides p WHERE p.conflict_id = c.id));
BEGIN
    IF cardinality(kept) = 0 THEN
        RETURN;
    END IF;
    INSERT INTO past_sides (conflict_id, duty_id, account, kind, number, path, access, during)
    WITH meant AS MATERIALIZED (
        SELECT c.id, c.identity_id, d.duty_id FROM conflicts c JOIN duty_rule_duties d ON d.rule_id = c.rule_id AND NOT d.is_control WHERE c.id = ANY (kept)
    ), owned AS MATERIALIZED (
        SELECT u.number, u.identity_id FROM unnest(numbers, former) AS u (number, identity_id)
        UNION
        SELECT a.number, a.identity_id FROM accounts a WHERE a.identity_id IN (SELECT m.identity_id FROM meant m) AND a.number <> ALL (numbers)
    ), held AS (
        SELECT h.account, h.duty_id, h.kind, h.number, h.path, h.access, unnest(range_agg(h.during)) AS during
        FROM duty_holdings(ARRAY(SELECT DISTINCT m.duty_id FROM meant m), ARRAY(SELECT o.number FROM owned o)) AS h
        GROUP BY h.account, h.duty_id, h.kind, h.number, h.path, h.access
    )
    SELECT m.id, h.duty_id, h.account, h.kind, h.number, h.path, h.access, h.during
    FROM meant m JOIN owned o ON o.identity_id = m.identity_id JOIN held h ON h.account = o.number AND h.duty_id = m.duty_id
    WHERE upper_inf(h.during);
END $$;

-- Queue the people who lost or gained an account, and store the sides of the conflicts of those who lost one.
CREATE OR REPLACE FUNCTION note_people_to_evaluate() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    numbers int[];
    former uuid[];
BEGIN
    IF NOT EXISTS (SELECT FROM duties) THEN
        RETURN NULL;
    END IF;
    SELECT array_agg(number), array_agg(identity_id) INTO numbers, former FROM (
        SELECT number, identity_id FROM old_rows WHERE identity_id IS NOT NULL EXCEPT SELECT number, identity_id FROM new_rows) AS lost;
    PERFORM keep_sides_of_accounts(numbers, former) WHERE numbers IS NOT NULL;
    INSERT INTO identities_to_evaluate (identity_id)
    -- Use EXCEPT instead of a join: with a cached plan for few rows, a join of many rows would take quadratic time.
    SELECT DISTINCT identity_id FROM (
        (SELECT number, identity_id FROM old_rows EXCEPT SELECT number, identity_id FROM new_rows)
        UNION ALL
        (SELECT number, identity_id FROM new_rows EXCEPT SELECT number, identity_id FROM old_rows)) AS moved
    WHERE identity_id IS NOT NULL;
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER note_to_evaluate AFTER UPDATE ON accounts REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION note_people_to_evaluate();

-- Update the list key of holders when their names change.
CREATE OR REPLACE FUNCTION move_duty_holders() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE 'UPDATE duty_holders h SET list_key = n.list_key FROM new_rows n WHERE n.id = h.identity_id AND n.list_key <> h.list_key';
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER move_duty_holders AFTER UPDATE ON identities REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION move_duty_holders();

-- Store the former name of a renamed application. Patterns still match the former name, so renaming does not end conflicts.
CREATE OR REPLACE FUNCTION keep_former_name() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.former_names := array_append(array_remove(array_remove(OLD.former_names, NEW.name), OLD.name), OLD.name);
    RETURN NEW;
END $$;
CREATE OR REPLACE TRIGGER keep_former_name BEFORE UPDATE OF name ON applications FOR EACH ROW
    WHEN (OLD.name <> NEW.name) EXECUTE FUNCTION keep_former_name();

-- Match all patterns again after an application was renamed, because more patterns may match the new name.
CREATE OR REPLACE FUNCTION match_renamed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM lock_matching();
    PERFORM evaluate_duties(ARRAY(SELECT id FROM duties), written_on());
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER match_renamed AFTER UPDATE OF name ON applications FOR EACH ROW
    WHEN (OLD.name <> NEW.name) EXECUTE FUNCTION match_renamed();

-- Evaluate the people with accounts in an application that was archived, or that is no longer archived.
CREATE OR REPLACE FUNCTION evaluate_archived() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    people uuid[];
    before uuid[];
BEGIN
    IF NOT EXISTS (SELECT FROM duties) THEN
        RETURN NULL;
    END IF;
    PERFORM lock_matching();
    PERFORM evaluate_people(take_people_to_evaluate(), written_on(), NULL);
    people := ARRAY(SELECT DISTINCT identity_id FROM accounts WHERE application_id = NEW.id AND identity_id IS NOT NULL);
    before := ARRAY(SELECT id FROM conflicts WHERE until IS NULL AND identity_id = ANY (people));
    PERFORM refresh_duty_holders(people, NULL);
    PERFORM refresh_conflicts(people, NULL, written_on(), NULL);
    PERFORM record_ends(before, format('the application %s was %s', NEW.name, CASE WHEN NEW.is_archived THEN 'archived' ELSE 'unarchived' END),
                        written_on());
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER evaluate_archived AFTER UPDATE OF is_archived ON applications FOR EACH ROW
    WHEN (OLD.is_archived <> NEW.is_archived) EXECUTE FUNCTION evaluate_archived();

-- Match patterns again after an entitlement was linked to its former name, or is no longer linked to it.
CREATE OR REPLACE FUNCTION match_same_entitlements() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    same uuid[] := ARRAY[NEW.entitlement_id, NEW.same_as, OLD.same_as];
    which uuid[] := ARRAY(SELECT DISTINCT d.duty_id FROM entitlements e JOIN duty_entitlements d ON d.kind = e.kind AND d.number = e.number
                          WHERE e.id = ANY (same));
BEGIN
    IF cardinality(which) > 0 THEN
        PERFORM lock_matching();
        PERFORM evaluate_duties(which, written_on());
    END IF;
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER match_same_entitlements AFTER UPDATE OF same_as ON curations FOR EACH ROW
    WHEN (OLD.same_as IS DISTINCT FROM NEW.same_as) EXECUTE FUNCTION match_same_entitlements();

-- Return whether a membership in a group may be requested under this header: the default group header, or a nomenclature that an import gave
-- for the group. Carriers carry out such a request even if the group has another nomenclature now. If `header` is null, return true.
CREATE OR REPLACE FUNCTION is_group_header(number int, header text) RETURNS boolean STABLE LANGUAGE sql RETURN
    header IS NULL OR header = default_group_header() OR EXISTS (
        SELECT FROM group_versions v
        WHERE v.group_number = is_group_header.number AND group_header(v.nomenclature) = is_group_header.header);

-- If the latest import does not show a group, return the duties that the group gave in the last import that showed it.
CREATE OR REPLACE FUNCTION duties_of_gone_group(number int) RETURNS TABLE (duty_id uuid) STABLE LANGUAGE sql BEGIN ATOMIC
    WITH gone AS MATERIALIZED (
        SELECT v.until_import - 1 AS last FROM group_versions v WHERE v.group_number = duties_of_gone_group.number
        ORDER BY v.from_import DESC LIMIT 1
    ), above AS MATERIALIZED (
        SELECT DISTINCT w.above, g.last FROM gone g CROSS JOIN LATERAL groups_above(ARRAY[duties_of_gone_group.number], g.last) AS w
        WHERE g.last IS NOT NULL
    )
    SELECT d.duty_id FROM above a JOIN duty_groups d ON d.group_number = a.above
    UNION
    SELECT e.duty_id FROM above a JOIN assignments s ON s.holder_number = a.above
    JOIN duty_entitlements e ON e.kind = 'Permission' AND e.number = s.permission_number
    WHERE int4range(s.from_import, s.until_import) @> a.last AND s.access NOT IN ('None', 'Deny') AND access_rank(s.access::text) >= e.lowest;
END;

-- Return whether an import has ever contained a privilege: a permission, or a group that may be requested under this header
-- (is_group_header). If `header` is null, look only for a group.
CREATE OR REPLACE FUNCTION is_in_catalogue(application uuid, header text, section text, name text) RETURNS boolean STABLE LANGUAGE sql RETURN
    EXISTS (SELECT FROM permissions p WHERE p.application_id = application AND p.header = is_in_catalogue.header
            AND p.section = is_in_catalogue.section AND p.permission = is_in_catalogue.name)
    OR EXISTS (SELECT FROM groups g WHERE g.application_id = application AND g.name = is_in_catalogue.name AND is_in_catalogue.section = ''
               AND is_group_header(g.number, is_in_catalogue.header));

-- Return the duties that a privilege gives. If `header` is null, the privilege is a group. A group also gives the duties of the groups above
-- it. A group that no longer exists gives the duties that it gave last, because a Restore may create it again. A name that is
-- not in the catalogue is compared with the patterns of the duties, ignoring case, white space, invisible characters and look-alike letters
-- (look_of).
CREATE OR REPLACE FUNCTION duties_given(application uuid, header text, section text, name text, access text) RETURNS TABLE (duty_id uuid)
STABLE LANGUAGE sql BEGIN ATOMIC
    SELECT d.duty_id FROM groups g JOIN duty_groups d ON d.group_number = g.number
    WHERE g.application_id = application AND g.name = duties_given.name AND duties_given.section = '' AND is_group_header(g.number, duties_given.header)
    UNION
    SELECT d.duty_id FROM groups g CROSS JOIN LATERAL duties_of_gone_group(g.number) AS d
    WHERE g.application_id = application AND g.name = duties_given.name AND duties_given.section = '' AND is_group_header(g.number, duties_given.header)
    UNION
    SELECT d.duty_id FROM permissions p JOIN duty_entitlements d ON d.kind = 'Permission' AND d.number = p.number
    WHERE p.application_id = application AND p.header = duties_given.header AND p.section = duties_given.section
          AND p.permission = duties_given.name AND access_rank(duties_given.access) >= d.lowest
    UNION
    SELECT d.id FROM duties d CROSS JOIN LATERAL jsonb_array_elements(d.patterns) AS p
    WHERE NOT is_in_catalogue(application, duties_given.header, duties_given.section, duties_given.name)
          AND EXISTS (SELECT FROM names_of_applications() AS o WHERE o.id = application AND o.name LIKE like_wildcard(p ->> 'application'))
          AND looks_like(duties_given.name, coalesce(p ->> 'group', p ->> 'permission'))
          -- An empty header or section fits any pattern. So does the default group header, because requests may use it in an application
          -- without groups.
          AND (p ->> 'group' IS NOT NULL OR duties_given.header IS NOT NULL
               AND (look_of(duties_given.header) IN ('', look_of(default_group_header())) OR looks_like(duties_given.header, p ->> 'header'))
               AND (look_of(duties_given.section) = '' OR looks_like(duties_given.section, p ->> 'section'))
               AND access_rank(duties_given.access) >= access_rank(coalesce(p ->> 'access', 'Grant')));
END;

-- Return the duties that privileges give, with the index of each privilege. Leave out duties that are in no rule in effect. The plan is
-- generic, because planning takes longer than execution.
CREATE OR REPLACE FUNCTION duties_given_by(applications uuid[], headers text[], sections text[], names text[], accesses text[])
RETURNS TABLE (n bigint, duty_id uuid) STABLE LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    RETURN QUERY SELECT asked.n, d.duty_id
        FROM unnest(applications, headers, sections, names, accesses) WITH ORDINALITY AS asked (application_id, header, section, name, access, n)
        CROSS JOIN LATERAL duties_given(asked.application_id, asked.header, asked.section, asked.name, asked.access) AS d
        -- Use a subquery for each row, because a join would read the duties of all rules.
        WHERE (SELECT true FROM duty_rule_duties r WHERE r.duty_id = d.duty_id LIMIT 1);
END $$;

-- Return the rules in effect that keep a gained duty apart from others, or whose control duty was lost. Each row is one duty of such a rule,
-- with its holders among `people`.
CREATE OR REPLACE FUNCTION rules_concerned(gained uuid[], lost uuid[], people uuid[])
RETURNS TABLE (rule_id uuid, definition jsonb, duty_id uuid, name text, holders uuid[])
STABLE LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    RETURN QUERY SELECT r.id, r.definition, d.id, d.name, ARRAY(
            SELECT h.identity_id FROM duty_holders h WHERE h.duty_id = d.id AND h.identity_id = ANY (people))
        FROM duty_rules r JOIN duty_rule_duties x ON x.rule_id = r.id JOIN duties d ON d.id = x.duty_id
        WHERE r.is_in_effect AND r.id = ANY (ARRAY(
            SELECT c.rule_id FROM duty_rule_duties c WHERE c.duty_id = ANY (gained) AND NOT c.is_control
            UNION SELECT c.rule_id FROM duty_rule_duties c WHERE c.duty_id = ANY (lost) AND c.is_control))
        ORDER BY r.name_key, r.id;
END $$;

CALL keep_list('duty_holders', 'duty_id');
CALL keep_list('conflicts', 'status', 'rule_id');
CALL keep_audit('duties', '''Duty''', 'r.id', $$to_jsonb(r) - '{id,name_key,changed_at}'::text[]$$);
CALL keep_audit('duty_rules', '''Duty Rule''', 'r.id', $$to_jsonb(r) - '{id,name_key,changed_at,name}'::text[]$$);
