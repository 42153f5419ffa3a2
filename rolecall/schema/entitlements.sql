-- Entitlements are listed by name. Curated fields are audited; imported fields are not.
--
-- UPDATE of application_imports to Finished fires `show_entitlements`. UPDATE of identities fires `note_acting_owners`.

-- Entitlements as of the last import that contains them.
CREATE OR REPLACE VIEW shown_entitlements AS
    SELECT p.id, 'Permission' AS kind, p.number, p.application_id, p.header, p.section, p.permission AS name, last.description,
           last.until_import, last.risk_rating
    FROM permissions p CROSS JOIN LATERAL (
        SELECT * FROM permission_versions v WHERE v.permission_number = p.number ORDER BY v.from_import DESC LIMIT 1) AS last
    UNION ALL
    -- Imports contain no ratings of groups; rate_groups computes them.
    SELECT g.id, 'Group', g.number, g.application_id, group_header(last.nomenclature), '', g.name, last.description, last.until_import, NULL
    FROM groups g CROSS JOIN LATERAL (
        SELECT * FROM group_versions v WHERE v.group_number = g.number ORDER BY v.from_import DESC LIMIT 1) AS last;

-- Recompute the ratings of these groups and of all groups below them, as group_risk does for one group. An import runs this before its tables
-- are analyzed; without statistics, calls of group_risk could be thousands of times slower.
CREATE OR REPLACE FUNCTION rate_groups(changed int[]) RETURNS void LANGUAGE sql BEGIN ATOMIC
    WITH RECURSIVE parents AS MATERIALIZED (
        SELECT p.child, p.parent FROM current_parents(ARRAY(
            SELECT DISTINCT g.application_id FROM unnest(changed) AS c JOIN groups g ON g.number = c)) AS p
    ), affected (number) AS (
        SELECT c FROM unnest(changed) AS c
        UNION
        SELECT p.child FROM affected a JOIN parents p ON p.parent = a.number
    ), walked (number, above, depth) AS (
        SELECT a.number, a.number, 0 FROM affected a
        UNION ALL
        SELECT w.number, p.parent, w.depth + 1 FROM walked w JOIN parents p ON p.child = w.above WHERE w.depth < deepest_nesting()
    ), above AS MATERIALIZED (
        SELECT DISTINCT w.number, w.above FROM walked w
    ), held AS MATERIALIZED (
        -- OFFSET 0 forces an index lookup per holder: without statistics, the planner would read the assignments of every account.
        SELECT holders.above AS number, s.permission_number
        FROM (SELECT DISTINCT a.above FROM above a) AS holders CROSS JOIN LATERAL (
            SELECT s.permission_number FROM assignments s
            WHERE s.holder_number = holders.above AND s.access NOT IN ('None', 'Deny') AND s.until_import IS NULL OFFSET 0) AS s
    ), curated AS MATERIALIZED (
        SELECT e.kind, e.number, e.curated_risk FROM entitlements e WHERE e.curated_risk IS NOT NULL
    ), given AS MATERIALIZED (
        SELECT h.number, max(risk_rank(coalesce(c.curated_risk, v.risk_rating))) AS rank
        FROM held h JOIN permission_versions v ON v.permission_number = h.permission_number AND v.until_import IS NULL
        LEFT JOIN curated c ON c.kind = 'Permission' AND c.number = h.permission_number
        GROUP BY h.number
    ), rated AS (
        SELECT a.number, coalesce(max(c.curated_risk) FILTER (WHERE a.above = a.number),
                                  (levels_in_order())[max(greatest(g.rank, risk_rank(c.curated_risk)))], 'None') AS risk
        FROM above a LEFT JOIN given g ON g.number = a.above LEFT JOIN curated c ON c.kind = 'Group' AND c.number = a.above
        GROUP BY a.number
    )
    -- Join on id, which has an index: without statistics, a join on number would compare each group with each entitlement.
    UPDATE entitlements e SET risk_rating = r.risk FROM rated r JOIN groups g ON g.number = r.number WHERE e.id = g.id AND e.risk_rating <> r.risk;
END;

-- Update the list after an import: add or change the groups and permissions that are new, altered or gone, and update ratings.
CREATE OR REPLACE FUNCTION refresh_entitlements(application uuid, import_number int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    touched_permissions int[] := ARRAY(
        SELECT permission_number FROM permission_versions WHERE from_import = import_number
        UNION SELECT permission_number FROM permission_versions WHERE until_import = import_number);
    touched_groups int[] := ARRAY(
        SELECT group_number FROM group_versions WHERE from_import = import_number
        UNION SELECT group_number FROM group_versions WHERE until_import = import_number);
BEGIN
    -- Serialize with curations, which lock this table too, so that neither computes ratings without the other's changes.
    LOCK TABLE curations IN SHARE MODE;
    -- Use one statement for each kind of change (docs/lists.md explains why).
    UPDATE entitlements e
    SET header = s.header, description = s.description, is_present = s.until_import IS NULL, gone_import = s.until_import,
        risk_rating = coalesce(e.curated_risk, s.risk_rating, e.risk_rating)
    FROM shown_entitlements s
    WHERE s.id = e.id AND (s.kind = 'Permission' AND s.number = ANY(touched_permissions) OR s.kind = 'Group' AND s.number = ANY(touched_groups));
    INSERT INTO entitlements (id, kind, number, application_id, header, section, name, description, is_present, first_import, gone_import, risk_rating)
    SELECT s.id, s.kind, s.number, s.application_id, s.header, s.section, s.name, s.description, s.until_import IS NULL, import_number,
           s.until_import, coalesce(s.risk_rating, 'None')
    FROM shown_entitlements s
    WHERE (s.kind = 'Permission' AND s.number = ANY(touched_permissions) OR s.kind = 'Group' AND s.number = ANY(touched_groups))
          AND NOT EXISTS (SELECT FROM entitlements e WHERE e.id = s.id);
    PERFORM rate_groups(ARRAY(
        SELECT g.number FROM groups g WHERE g.application_id = application AND (g.number = ANY(touched_groups) OR EXISTS (
            SELECT FROM assignments s WHERE s.holder_number = g.number AND (
                s.from_import = import_number OR s.until_import = import_number
                OR s.until_import IS NULL AND s.permission_number = ANY(touched_permissions))))));
END $$;

-- Update the list of entitlements when an import finishes.
CREATE OR REPLACE FUNCTION show_entitlements() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM refresh_entitlements(NEW.application_id, NEW.number::int);
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER show_entitlements AFTER UPDATE OF status ON application_imports FOR EACH ROW
    WHEN (NEW.status = 'Finished' AND OLD.status <> 'Finished') EXECUTE FUNCTION show_entitlements();

-- Return the ids of an entitlement: its own, and those under its former names.
CREATE OR REPLACE FUNCTION former_selves(id uuid) RETURNS TABLE (id uuid) STABLE LANGUAGE sql BEGIN ATOMIC
    WITH RECURSIVE selves (id) AS (
        SELECT former_selves.id
        UNION
        SELECT c.same_as FROM selves s JOIN curations c ON c.entitlement_id = s.id WHERE c.same_as IS NOT NULL
    )
    SELECT selves.id FROM selves;
END;

-- Return the imports that showed an entitlement.
CREATE OR REPLACE FUNCTION entitlement_shown(id uuid) RETURNS int4multirange STABLE LANGUAGE sql RETURN coalesce((
    SELECT range_agg(int4range(v.from_import, v.until_import)) FROM entitlements e CROSS JOIN LATERAL (
        SELECT from_import, until_import FROM permission_versions WHERE e.kind = 'Permission' AND permission_number = e.number
        UNION ALL SELECT from_import, until_import FROM group_versions WHERE e.kind = 'Group' AND group_number = e.number) AS v
    WHERE e.id = entitlement_shown.id), '{}');

-- Return an entitlement and its former names, each with the imports in which the entitlement has this name. A former name applies to imports
-- that do not show a later name. If an import shows both names, the former name is that of another entitlement in this import.
CREATE OR REPLACE FUNCTION names_over_time(entitlement uuid) RETURNS TABLE (id uuid, kind text, number int, during int4range)
STABLE LANGUAGE sql BEGIN ATOMIC
    WITH RECURSIVE selves (id, later) AS (
        SELECT entitlement, '{}'::int4multirange
        UNION
        SELECT c.same_as, s.later + entitlement_shown(s.id) FROM selves s JOIN curations c ON c.entitlement_id = s.id WHERE c.same_as IS NOT NULL
    )
    SELECT e.id, e.kind, e.number, unnest(int4multirange(int4range(0, NULL)) - s.later) FROM selves s JOIN entitlements e ON e.id = s.id;
END;

-- Return the last entitlement in a chain of renames, or the entitlement itself if it was not renamed.
CREATE OR REPLACE FUNCTION latest_self(id uuid) RETURNS uuid STABLE LANGUAGE sql RETURN
    CASE WHEN EXISTS (SELECT FROM curations c WHERE c.same_as = latest_self.id) THEN (
        WITH RECURSIVE renamed (id, step) AS (
            SELECT latest_self.id, 0
            UNION ALL
            SELECT c.entitlement_id, r.step + 1 FROM renamed r JOIN curations c ON c.same_as = r.id
        ) CYCLE id SET is_cycle USING path
        SELECT r.id FROM renamed r ORDER BY r.step DESC LIMIT 1) ELSE id END;

-- Pairs of a former and a later name of the same entitlement. As in requests and models, groups have no header.
CREATE OR REPLACE VIEW renamed_entitlements AS
    WITH RECURSIVE renamed (former, id) AS (
        SELECT c.same_as, c.entitlement_id FROM curations c WHERE c.same_as IS NOT NULL
        UNION
        SELECT r.former, c.entitlement_id FROM renamed r JOIN curations c ON c.same_as = r.id
    )
    SELECT e.application_id, e.kind = 'Group' AS is_group, f.id AS former_id, CASE WHEN f.kind = 'Group' THEN '' ELSE f.header END AS former_header,
           f.section AS former_section, f.name AS former_permission,
           e.id, CASE WHEN e.kind = 'Group' THEN '' ELSE e.header END AS header, e.section, e.name AS permission
    FROM renamed r JOIN entitlements f ON f.id = r.former JOIN entitlements e ON e.id = r.id;

-- Return who holds an entitlement under its current and former names, after the import `as_of` or, if `as_of` is null, at any time. `path`
-- lists the groups through which the account holds it, starting with the group that the account is in; it is empty for direct access.
CREATE OR REPLACE FUNCTION holdings_of(entitlement uuid, as_of int)
RETURNS TABLE (id uuid, account int, path int[], access text, during int4range) STABLE LANGUAGE sql BEGIN ATOMIC
    WITH selves AS MATERIALIZED (
        SELECT n.* FROM names_over_time(entitlement) AS n WHERE as_of IS NULL OR n.during @> as_of
    ), assigned AS MATERIALIZED (
        SELECT e.id, s.holder_number, s.access::text, int4range(s.from_import, s.until_import) * e.during AS during
        FROM selves e CROSS JOIN LATERAL assignments_of(e.number, as_of) AS s
        WHERE e.kind = 'Permission' AND s.access NOT IN ('None', 'Deny') AND int4range(s.from_import, s.until_import) && e.during
    ), given AS MATERIALIZED (
        -- The members of a group hold the group, and every permission that is assigned to it.
        SELECT e.id, e.number AS giver, '{}'::int[] AS last, 'Grant' AS access, e.during FROM selves e WHERE e.kind = 'Group'
        UNION ALL
        SELECT s.id, g.number, ARRAY[g.number], s.access, s.during FROM assigned s JOIN groups g ON g.number = s.holder_number
    ), through AS MATERIALIZED (
        SELECT g.id, b.number, b.path || g.last AS path, g.access, g.during * b.during AS during
        FROM given g CROSS JOIN LATERAL groups_below(g.giver, as_of) AS b WHERE g.during && b.during
    )
    SELECT s.id, a.number, '{}'::int[], s.access, s.during FROM assigned s JOIN accounts a ON a.number = s.holder_number
    UNION ALL
    SELECT t.id, m.account_number, t.path, t.access, t.during * int4range(m.from_import, m.until_import)
    FROM through t JOIN memberships m ON m.group_number = t.number
    WHERE t.during && int4range(m.from_import, m.until_import)
          AND (as_of IS NULL OR m.from_import <= as_of AND (m.until_import IS NULL OR m.until_import > as_of));
END;

-- Like holdings_of, for the given accounts only. It walks up from their groups, so its cost depends on the number of accounts, not of holders.
CREATE OR REPLACE FUNCTION holdings_of_accounts(entitlement uuid, as_of int, accounts int[])
RETURNS TABLE (id uuid, account int, path int[], access text, during int4range) STABLE LANGUAGE sql BEGIN ATOMIC
    WITH selves AS MATERIALIZED (
        SELECT n.* FROM names_over_time(entitlement) AS n WHERE as_of IS NULL OR n.during @> as_of
    ), joined AS MATERIALIZED (
        SELECT m.account_number, m.group_number, int4range(m.from_import, m.until_import) AS during FROM memberships m
        WHERE m.account_number = ANY (accounts)
              AND (as_of IS NULL OR m.from_import <= as_of AND (m.until_import IS NULL OR m.until_import > as_of))
    ), walked AS MATERIALIZED (
        SELECT j.account_number, w.above, w.path, j.during * w.during AS during
        FROM joined j JOIN groups_above(ARRAY(SELECT DISTINCT group_number FROM joined), as_of) AS w ON w.number = j.group_number
        WHERE j.during && w.during
    )
    SELECT e.id, s.holder_number, '{}'::int[], s.access::text, int4range(s.from_import, s.until_import) * e.during
    FROM selves e JOIN assignments s ON s.permission_number = e.number AND s.holder_number = ANY (accounts)
    WHERE e.kind = 'Permission' AND s.access NOT IN ('None', 'Deny') AND int4range(s.from_import, s.until_import) && e.during
          AND (as_of IS NULL OR s.from_import <= as_of AND (s.until_import IS NULL OR s.until_import > as_of))
    UNION ALL
    SELECT e.id, w.account_number, w.path, 'Grant', w.during * e.during FROM selves e JOIN walked w ON w.above = e.number
    WHERE e.kind = 'Group' AND w.during && e.during
    UNION ALL
    SELECT e.id, w.account_number, w.path || w.above, s.access::text, w.during * e.during * int4range(s.from_import, s.until_import)
    FROM selves e JOIN walked w ON w.during && e.during JOIN assignments s ON s.holder_number = w.above AND s.permission_number = e.number
    WHERE e.kind = 'Permission' AND s.access NOT IN ('None', 'Deny') AND w.during * e.during && int4range(s.from_import, s.until_import)
          AND (as_of IS NULL OR s.from_import <= as_of AND (s.until_import IS NULL OR s.until_import > as_of));
END;

-- Like holdings_of, for all entitlements of an application at once, but without the holdings under former names. It walks up from each
-- group once, instead of once for each entitlement.
CREATE OR REPLACE FUNCTION holdings_within(application uuid, as_of int)
RETURNS TABLE (id uuid, account int, path int[], access text, during int4range) STABLE LANGUAGE sql BEGIN ATOMIC
    WITH joined AS MATERIALIZED (
        SELECT m.account_number, w.above, w.path, w.during * int4range(m.from_import, m.until_import) AS during
        FROM groups_above(ARRAY(SELECT g.number FROM groups g WHERE g.application_id = application), as_of) AS w
        JOIN memberships m ON m.group_number = w.number
        WHERE w.during && int4range(m.from_import, m.until_import)
              AND (as_of IS NULL OR m.from_import <= as_of AND (m.until_import IS NULL OR m.until_import > as_of))
    )
    SELECT p.id, s.holder_number, '{}'::int[], s.access::text, int4range(s.from_import, s.until_import)
    FROM accounts a JOIN assignments s ON s.holder_number = a.number JOIN permissions p ON p.number = s.permission_number
    WHERE a.application_id = application AND s.access NOT IN ('None', 'Deny')
          AND (as_of IS NULL OR s.from_import <= as_of AND (s.until_import IS NULL OR s.until_import > as_of))
    UNION ALL
    -- Read ids with subqueries, not joins: the planner expects few rows here and would choose a nested loop over all permissions.
    SELECT (SELECT g.id FROM groups g WHERE g.number = j.above), j.account_number, j.path, 'Grant', j.during FROM joined j
    UNION ALL
    SELECT (SELECT p.id FROM permissions p WHERE p.number = s.permission_number), j.account_number, j.path || j.above, s.access::text,
           j.during * int4range(s.from_import, s.until_import)
    FROM joined j JOIN assignments s ON s.holder_number = j.above
    WHERE s.access NOT IN ('None', 'Deny') AND j.during && int4range(s.from_import, s.until_import)
          AND (as_of IS NULL OR s.from_import <= as_of AND (s.until_import IS NULL OR s.until_import > as_of));
END;

-- Copy the curated fields of an entitlement to its row in the list and to the rows of its former names, then rate the affected groups.
CREATE OR REPLACE FUNCTION show_curation(entitlement uuid) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    UPDATE entitlements e
    SET display_name = coalesce(c.display_name, ''), is_privileged = coalesce(c.is_privileged, false), owner_id = c.owner_id,
        tags = coalesce(c.tags, '{}'), curated_risk = c.risk_rating, risk_rating = coalesce(c.risk_rating, s.risk_rating, e.risk_rating),
        first_import = (SELECT min(v.from_import) FROM former_selves(e.id) AS f JOIN entitlements x ON x.id = f.id
                        CROSS JOIN LATERAL (SELECT from_import FROM permission_versions WHERE x.kind = 'Permission' AND permission_number = x.number
                                            UNION ALL SELECT from_import FROM group_versions WHERE x.kind = 'Group' AND group_number = x.number) AS v)
    FROM former_selves(entitlement) AS named JOIN shown_entitlements s ON s.id = named.id
    LEFT JOIN curations c ON c.entitlement_id = latest_self(entitlement) WHERE e.id = named.id;
    PERFORM rate_groups(ARRAY(
        WITH named AS (SELECT e.kind, e.number FROM former_selves(entitlement) AS f JOIN entitlements e ON e.id = f.id)
        SELECT e.number FROM named e WHERE e.kind = 'Group'
        UNION SELECT g.number FROM named e CROSS JOIN LATERAL assignments_of(e.number, now_import()) AS s
              JOIN groups g ON g.number = s.holder_number WHERE e.kind = 'Permission'));
END $$;

-- When the owner of an entitlement leaves, the application's owner acts in their place until they return. Neither the departure nor the
-- return changes a curation, so this trigger audits both.
CREATE OR REPLACE FUNCTION note_acting_owners() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM curations WHERE owner_id IS NOT NULL) THEN
        RETURN NULL;
    END IF;
    PERFORM note_changes((
        SELECT string_agg(jsonb_build_object(
                   'kind', 'Entitlement', 'id', e.id, 'part', '',
                   'was', jsonb_build_object('acting_owner_id', CASE WHEN n.is_active THEN p.id ELSE n.id END),
                   'is', jsonb_build_object('acting_owner_id', CASE WHEN n.is_active THEN n.id ELSE p.id END))::text, ',')
        -- Use EXCEPT instead of a join: with a cached plan for few rows, a join of many rows would take quadratic time.
        FROM (SELECT id, status = 'Active' AS is_active FROM new_rows EXCEPT SELECT id, status = 'Active' FROM old_rows) AS n
        JOIN curations c ON c.owner_id = n.id JOIN entitlements e ON e.id = c.entitlement_id
        JOIN applications a ON a.id = e.application_id
        LEFT JOIN identities p ON p.id = a.owner_id AND p.status = 'Active' AND p.id <> n.id));
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER note_acting_owners AFTER UPDATE ON identities REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION note_acting_owners();

CALL keep_list('entitlements', 'application_id', 'kind', 'risk_rating');
CALL keep_audit('curations', '''Entitlement''', 'r.entitlement_id', $$to_jsonb(r) - '{entitlement_id,changed_on}'::text[]$$);

-- Rate existing groups when this file is applied for the first time.
SELECT rate_groups(array_agg(number)) FROM entitlements
WHERE kind = 'Group' AND NOT EXISTS (SELECT FROM schema_files WHERE name = 'schema/entitlements.sql');
