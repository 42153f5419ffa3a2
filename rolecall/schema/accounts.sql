-- Functions for queries about accounts and the access that they hold, and triggers that record matches and the holders of permissions.
--
-- UPDATE of accounts fires `count_matching`, `keep_past` and, if a pin or its identity changes, `note_pin`. INSERT of assignments fires
-- `note_holders`, and UPDATE fires `note_former_holders`. INSERT or UPDATE of identities fires `note_to_match_on_…`, and every change of
-- unconfirmed e-mails fires `note_to_match`; both queue keys in identities_to_match.

-- Serialize matching and the evaluation of duties until the transaction ends, so that neither misses uncommitted changes of the other.
CREATE OR REPLACE FUNCTION lock_matching() RETURNS void LANGUAGE sql BEGIN ATOMIC
    SELECT pg_advisory_xact_lock(hashtextextended('matching', 0));
END;

-- Count the matchings of an application. The names of stored lists of accounts contain this number, so that each matching invalidates their
-- stored pages.
CREATE OR REPLACE FUNCTION count_matching() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO matchings SELECT DISTINCT application_id, 1 FROM new_rows
    ON CONFLICT (application_id) DO UPDATE SET number = matchings.number + 1;
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER count_matching AFTER UPDATE ON accounts REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION count_matching();

-- Record the holders of each permission when an import begins assignments (they are inserted without an end) and when an import ends them.
-- `assignments_of` reads these records.
CREATE OR REPLACE FUNCTION note_holders() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO permission_holders (permission_number, from_import, access, holders)
    SELECT permission_number, from_import, access, array_agg(holder_number) FROM new_rows GROUP BY permission_number, from_import, access;
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER note_holders AFTER INSERT ON assignments REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION note_holders();
CREATE OR REPLACE FUNCTION note_former_holders() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO permission_holders (permission_number, until_import, holders)
    SELECT permission_number, until_import, array_agg(holder_number) FROM new_rows WHERE until_import IS NOT NULL
    GROUP BY permission_number, until_import;
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER note_former_holders AFTER UPDATE ON assignments REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION note_former_holders();
-- The import number that means the present. It is higher than every real one, so the range of each row that is still valid contains it.
CREATE OR REPLACE FUNCTION now_import() RETURNS int IMMUTABLE LANGUAGE sql PARALLEL SAFE RETURN 2147483646;
-- Return the assignments of a permission. If `as_of` is null, return all assignments with their ends. Otherwise return only the assignments
-- that are valid after the import `as_of`, without their ends.
CREATE OR REPLACE FUNCTION assignments_of(permission int, as_of int)
RETURNS TABLE (holder_number int, access access, from_import int, until_import int) STABLE LANGUAGE sql BEGIN ATOMIC
    WITH begun AS NOT MATERIALIZED (
        SELECT unnest(h.holders) AS holder, h.access, h.from_import FROM permission_holders h
        WHERE h.permission_number = permission AND h.from_import <= coalesce(as_of, now_import())
    ), ended AS NOT MATERIALIZED (
        SELECT unnest(h.holders) AS holder, h.until_import FROM permission_holders h
        WHERE h.permission_number = permission AND h.until_import <= coalesce(as_of, now_import())
    )
    SELECT b.holder, b.access, b.from_import, NULL::int FROM begun b
    WHERE as_of IS NOT NULL AND NOT EXISTS (SELECT FROM ended e WHERE e.holder = b.holder AND e.until_import > b.from_import)
    UNION ALL
    SELECT b.holder, b.access, b.from_import, min(e.until_import)
    FROM begun b LEFT JOIN ended e ON e.holder = b.holder AND e.until_import > b.from_import
    WHERE as_of IS NULL GROUP BY b.holder, b.access, b.from_import;
END;

-- Return the header of a privilege that is a group membership.
CREATE OR REPLACE FUNCTION group_header(nomenclature text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN coalesce(nullif(nomenclature, ''), default_group_header());
-- Return the rank of a level of access or risk, because the names would sort alphabetically.
CREATE OR REPLACE FUNCTION access_rank(access text) RETURNS int LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN array_position(access_in_order(), access);
CREATE OR REPLACE FUNCTION risk_rank(rating text) RETURNS int LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN array_position(levels_in_order(), rating);

-- The maximum depth of nested groups. Real groups are nested less deeply; the limit bounds the cost of a chain of thousands.
CREATE OR REPLACE FUNCTION deepest_nesting() RETURNS int IMMUTABLE LANGUAGE sql PARALLEL SAFE RETURN 64;

-- Return the imports that showed a group.
CREATE OR REPLACE FUNCTION group_shown(number int) RETURNS int4multirange STABLE LANGUAGE sql RETURN coalesce(
    (SELECT range_agg(int4range(v.from_import, v.until_import)) FROM group_versions v WHERE v.group_number = group_shown.number), '{}');

-- Return the parents of a group, each with the imports during which it was the parent. This is the only definition of nesting. The column
-- `Parent` names the parent: the group with exactly this name if the import contains it, else a group whose name differs only in case (the
-- one with the lowest number). A parent that the import does not contain is ignored.
CREATE OR REPLACE FUNCTION parents_of(child int) RETURNS TABLE (parent int, during int4range) STABLE LANGUAGE sql BEGIN ATOMIC
    SELECT p.number, unnest(range_agg(int4range(v.from_import, v.until_import)::int4multirange * p.shown - p.taken))
    FROM group_versions v JOIN groups c ON c.number = v.group_number
    CROSS JOIN LATERAL (
        SELECT g.number, group_shown(g.number) AS shown, coalesce(range_agg(group_shown(g.number)) OVER (
                   ORDER BY g.name = v.parent DESC, g.number ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), '{}') AS taken
        FROM groups g WHERE g.application_id = c.application_id AND in_any_case(g.name) = in_any_case(v.parent)
    ) AS p
    WHERE v.group_number = child AND v.parent <> '' GROUP BY p.number;
END;

-- Return the current parents of all groups of these applications, as parents_of defines them.
CREATE OR REPLACE FUNCTION current_parents(there uuid[]) RETURNS TABLE (child int, parent int) STABLE LANGUAGE sql BEGIN ATOMIC
    SELECT DISTINCT ON (c.number) c.number, p.number
    FROM groups c JOIN group_versions v ON v.group_number = c.number AND v.until_import IS NULL AND v.parent <> ''
    JOIN groups p ON p.application_id = c.application_id AND in_any_case(p.name) = in_any_case(v.parent)
    WHERE c.application_id = ANY (there)
          AND EXISTS (SELECT FROM group_versions w WHERE w.group_number = p.number AND w.until_import IS NULL)
    ORDER BY c.number, p.name = v.parent DESC, p.number;
END;

-- Return the groups whose parent is this group: the inverse of parents_of.
CREATE OR REPLACE FUNCTION children_of(parent int) RETURNS TABLE (child int, during int4range) STABLE LANGUAGE sql BEGIN ATOMIC
    SELECT v.group_number, unnest(range_agg(int4range(v.from_import, v.until_import)::int4multirange * p.shown - taken.shown))
    FROM (SELECT g.*, group_shown(g.number) AS shown FROM groups g WHERE g.number = children_of.parent OFFSET 0) AS p
    CROSS JOIN LATERAL (
        -- Use the collation of the index on parents. Without OFFSET 0, the planner would read all versions.
        SELECT * FROM group_versions v
        WHERE in_any_case(v.parent) = in_any_case(p.name) COLLATE "default" AND v.parent <> '' OFFSET 0
    ) AS v JOIN groups c ON c.number = v.group_number AND c.application_id = p.application_id
    CROSS JOIN LATERAL (
        SELECT coalesce(range_agg(group_shown(o.number)), '{}') AS shown FROM groups o
        WHERE p.name <> v.parent AND o.application_id = p.application_id AND in_any_case(o.name) = in_any_case(p.name)
              AND o.number <> p.number AND (o.name = v.parent OR o.number < p.number)
    ) AS taken
    GROUP BY v.group_number;
END;

-- Return, for each of these groups, all groups that its members are in: the group itself and all groups above it. `path` lists the groups
-- from the group itself up to the one below `above`. The nesting is the one after the import `as_of` or, if `as_of` is null, of any time.
-- A path contains each group only once, so cycles end.
CREATE OR REPLACE FUNCTION groups_above(starts int[], as_of int)
RETURNS TABLE (number int, above int, path int[], during int4range) STABLE LANGUAGE sql BEGIN ATOMIC
    WITH RECURSIVE walked (number, above, path, during) AS (
        SELECT DISTINCT s, s, '{}'::int[], int4range(0, NULL) FROM unnest(starts) AS s
        UNION ALL
        SELECT w.number, l.parent, w.path || w.above, w.during * l.during FROM walked w CROSS JOIN LATERAL parents_of(w.above) AS l
        WHERE w.during && l.during AND (as_of IS NULL OR l.during @> as_of)
              AND l.parent <> ALL (w.path || w.above) AND cardinality(w.path) < deepest_nesting()
    )
    SELECT w.number, w.above, w.path, w.during FROM walked w;
END;

-- Return the groups whose members are in the group `start`, including `start`: the inverse of groups_above. `path` lists the
-- groups from `number` up to the one below `start`; it is empty for `start` itself.
CREATE OR REPLACE FUNCTION groups_below(start int, as_of int)
RETURNS TABLE (number int, path int[], during int4range) STABLE LANGUAGE sql BEGIN ATOMIC
    WITH RECURSIVE walked (number, path, during) AS (
        SELECT start, '{}'::int[], int4range(0, NULL)
        UNION ALL
        SELECT l.child, l.child || w.path, w.during * l.during FROM walked w
        CROSS JOIN LATERAL children_of(w.number) AS l
        WHERE w.during && l.during AND (as_of IS NULL OR l.during @> as_of)
              AND l.child <> ALL (start || w.path) AND cardinality(w.path) < deepest_nesting()
    )
    SELECT w.number, w.path, w.during FROM walked w;
END;

-- Return the names of these groups in the given order. The function is one expression, so that queries inline it.
CREATE OR REPLACE FUNCTION group_names(numbers int[]) RETURNS text[] STABLE LANGUAGE sql RETURN coalesce(
    (SELECT array_agg(g.name::text ORDER BY n.place)
     FROM unnest(numbers) WITH ORDINALITY AS n (number, place) JOIN groups g ON g.number = n.number), '{}');

-- Return the groups of the cycle that a group belongs to, or null.
CREATE OR REPLACE FUNCTION group_cycle(number int, as_of int) RETURNS int[] STABLE LANGUAGE sql BEGIN ATOMIC
    SELECT w.path || w.above FROM groups_above(ARRAY[group_cycle.number], as_of) AS w
    CROSS JOIN LATERAL parents_of(w.above) AS l
    WHERE l.parent = group_cycle.number AND l.during @> as_of LIMIT 1;
END;

-- Return the rating of a group after the import `as_of` or, if it is null, now. It is the highest rating among the permissions that the group
-- and the groups above it give, and the curated ratings of the groups above it.
CREATE OR REPLACE FUNCTION given_risk_at(number int, as_of int) RETURNS text STABLE LANGUAGE sql BEGIN ATOMIC
    WITH above AS MATERIALIZED (
        SELECT DISTINCT w.above AS number FROM groups_above(ARRAY[given_risk_at.number], coalesce(as_of, now_import())) AS w
    )
    SELECT coalesce((SELECT rated.risk FROM (
        SELECT coalesce(c.curated_risk, v.risk_rating) AS risk FROM above
        JOIN assignments s ON s.holder_number = above.number AND s.access NOT IN ('None', 'Deny')
             AND s.from_import <= coalesce(as_of, s.from_import) AND (s.until_import IS NULL OR s.until_import > as_of)
        JOIN permission_versions v ON v.permission_number = s.permission_number
             AND v.from_import <= coalesce(as_of, v.from_import) AND (v.until_import IS NULL OR v.until_import > as_of)
        JOIN permissions p ON p.number = s.permission_number LEFT JOIN entitlements c ON c.id = p.id AND c.curated_risk IS NOT NULL
        UNION ALL
        SELECT c.curated_risk FROM above JOIN groups g ON g.number = above.number JOIN entitlements c ON c.id = g.id
        WHERE c.curated_risk IS NOT NULL AND g.number <> given_risk_at.number
    ) AS rated ORDER BY risk_rank(rated.risk) DESC LIMIT 1), 'None');
END;
-- Return the curated rating of a group, or else the rating that given_risk_at computes.
CREATE OR REPLACE FUNCTION group_risk_at(number int, as_of int) RETURNS text STABLE LANGUAGE sql BEGIN ATOMIC
    SELECT coalesce((SELECT c.curated_risk FROM groups g JOIN entitlements c ON c.id = g.id WHERE g.number = group_risk_at.number),
                    given_risk_at(group_risk_at.number, as_of));
END;
CREATE OR REPLACE FUNCTION group_risk(number int) RETURNS text STABLE LANGUAGE sql RETURN group_risk_at(number, NULL);

-- Return the current rating of the permission or the group that a privilege refers to; if it may refer to either, the higher rating. Return
-- null if neither is in the catalogue now.
CREATE OR REPLACE FUNCTION known_risk(permission int, membership int) RETURNS text STABLE LANGUAGE sql BEGIN ATOMIC
    SELECT rated.risk FROM (
        SELECT coalesce(c.curated_risk, v.risk_rating) AS risk FROM permission_versions v
        JOIN permissions p ON p.number = v.permission_number LEFT JOIN entitlements c ON c.id = p.id AND c.curated_risk IS NOT NULL
        WHERE v.permission_number = known_risk.permission AND v.until_import IS NULL
        UNION ALL
        SELECT group_risk(v.group_number) FROM group_versions v
        WHERE v.group_number = membership AND v.until_import IS NULL
    ) AS rated ORDER BY risk_rank(rated.risk) DESC LIMIT 1;
END;
-- Rate a privilege. A privilege that is not in the catalogue is Critical.
CREATE OR REPLACE FUNCTION privilege_risk(permission int, membership int) RETURNS text STABLE LANGUAGE sql
    RETURN coalesce(known_risk(permission, membership), 'Critical');
-- Return the highest rating of what an account holds now, directly or through groups; 'None' if it holds nothing.
CREATE OR REPLACE FUNCTION account_risk(number int) RETURNS text STABLE LANGUAGE sql BEGIN ATOMIC
    SELECT coalesce((SELECT rated.risk FROM (
        SELECT privilege_risk(NULL, m.group_number) AS risk FROM memberships m
        WHERE m.account_number = account_risk.number AND m.until_import IS NULL
        UNION ALL
        SELECT privilege_risk(s.permission_number, NULL) FROM assignments s
        WHERE s.holder_number = account_risk.number AND s.until_import IS NULL AND s.access NOT IN ('None', 'Deny')
    ) AS rated ORDER BY risk_rank(rated.risk) DESC LIMIT 1), 'None');
END;

-- Return the most frequent raw value among the holders of this access. If nobody holds it, use the holders of Grant, Modify or Unrestricted,
-- in this order.
CREATE OR REPLACE FUNCTION usual_value(permission int, wanted text) RETURNS text STABLE LANGUAGE sql BEGIN ATOMIC
    SELECT found.value FROM unnest(ARRAY[wanted, 'Grant', 'Modify', 'Unrestricted']) WITH ORDINALITY AS a (access, place)
    CROSS JOIN LATERAL (
        SELECT v.value FROM permission_values v
        WHERE v.permission_number = permission AND v.access = a.access::access AND v.holders > 0
        ORDER BY v.holders DESC, v.digest LIMIT 1
    ) AS found ORDER BY a.place LIMIT 1;
END;

-- Queue the matching keys of identities, before and after a change. accounts/matching.py deletes them as it reads them.
CREATE OR REPLACE FUNCTION note_identities_to_match() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO identities_to_match (identity_id, employee_id, email_address, last_name_key, first_name_key)
        SELECT id, employee_id, email_address, last_name_key, first_name_key FROM new_rows;
    ELSE
        INSERT INTO identities_to_match (identity_id, employee_id, email_address, last_name_key, first_name_key)
        -- Use EXCEPT instead of a join: with a cached plan for few rows, a join of many rows would take quadratic time.
        SELECT id, employee_id, email_address, last_name_key, first_name_key FROM (
            (SELECT id, employee_id, email_address, last_name_key, first_name_key, status FROM old_rows
             EXCEPT SELECT id, employee_id, email_address, last_name_key, first_name_key, status FROM new_rows)
            UNION ALL
            (SELECT id, employee_id, email_address, last_name_key, first_name_key, status FROM new_rows
             EXCEPT SELECT id, employee_id, email_address, last_name_key, first_name_key, status FROM old_rows)
        ) AS changed;
    END IF;
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER note_to_match_on_insert AFTER INSERT ON identities REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION note_identities_to_match();
CREATE OR REPLACE TRIGGER note_to_match_on_update AFTER UPDATE ON identities REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION note_identities_to_match();

-- Queue both e-mails of a person when one is withheld or confirmed: an unconfirmed e-mail matches only if nobody has it as a confirmed one.
CREATE OR REPLACE FUNCTION note_email_to_match() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO identities_to_match (identity_id, employee_id, email_address, last_name_key, first_name_key)
    SELECT i.id, i.employee_id, e.email, i.last_name_key, i.first_name_key
    FROM identities i CROSS JOIN LATERAL (VALUES (i.email_address), (coalesce(OLD.sign_in_email, NEW.sign_in_email))) AS e (email)
    WHERE i.id = coalesce(OLD.identity_id, NEW.identity_id);
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER note_to_match AFTER INSERT OR UPDATE OR DELETE ON unconfirmed_emails
    FOR EACH ROW EXECUTE FUNCTION note_email_to_match();

-- Return the match of an account at a past time, and when that match began. A pin applies to all times. For a time before the first recorded
-- match, return the first match; its `matched_on` is then later than that time. Between two matches, the account was unmatched.
CREATE OR REPLACE FUNCTION match_then(account accounts, moment timestamptz)
RETURNS TABLE (identity_id uuid, match text, matched_on timestamptz) STABLE ROWS 1 LANGUAGE sql BEGIN ATOMIC
    SELECT CASE WHEN p.account_number IS NULL THEN account.identity_id WHEN p.until > moment THEN p.identity_id END,
           CASE WHEN p.account_number IS NULL THEN account.match WHEN p.until > moment THEN coalesce(p.match, account.match) ELSE 'Unmatched' END,
           CASE WHEN p.account_number IS NULL THEN account.matched_on WHEN p.until > moment THEN p.since ELSE p.until END
    FROM (SELECT account.pin IS NOT NULL OR account.matched_on <= moment AS is_current) AS now
    LEFT JOIN LATERAL (
        SELECT * FROM past_matches m WHERE m.account_number = account.number
        ORDER BY m.since <= moment DESC, CASE WHEN m.since <= moment THEN m.since END DESC, m.since LIMIT 1) AS p ON NOT now.is_current;
END;
-- Return the identity of an account at a past time.
CREATE OR REPLACE FUNCTION identity_then(account accounts, moment timestamptz) RETURNS uuid STABLE LANGUAGE sql RETURN
    CASE WHEN account.pin IS NOT NULL OR account.matched_on <= moment THEN account.identity_id
         ELSE (SELECT m.identity_id FROM match_then(account, moment) AS m) END;

-- Return all identities that an account has belonged to, each with its period, as match_then defines them. Between two matches, the identity
-- is null.
CREATE OR REPLACE FUNCTION matches_of(account accounts) RETURNS TABLE (identity_id uuid, during tstzrange) STABLE LANGUAGE sql BEGIN ATOMIC
    WITH known AS (
        SELECT m.identity_id, m.since, m.until FROM past_matches m WHERE account.pin IS NULL AND m.account_number = account.number
        UNION ALL
        SELECT account.identity_id, account.matched_on, NULL
    ), numbered AS (
        SELECT k.*, row_number() OVER (ORDER BY k.since) = 1 AS is_first, lead(k.since) OVER (ORDER BY k.since) AS next FROM known k
    ), spans (identity_id, during) AS (
        SELECT n.identity_id, tstzrange(CASE WHEN NOT n.is_first THEN n.since END, n.until) FROM numbered n
        UNION ALL
        SELECT NULL, tstzrange(n.until, n.next) FROM numbered n WHERE n.until < n.next
    )
    SELECT s.identity_id, unnest(range_agg(s.during)) FROM spans s GROUP BY s.identity_id;
END;

-- Store the matches that an update ends, with their start and end: docs/decisions/0090.
CREATE OR REPLACE FUNCTION keep_past_matches() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    -- All accounts of one statement are matched at the same time.
    moment timestamptz := (SELECT max(matched_on) FROM new_rows);
BEGIN
    IF NOT EXISTS (SELECT FROM old_rows WHERE identity_id IS NOT NULL) THEN
        RETURN NULL;
    END IF;
    INSERT INTO past_matches AS p (account_number, identity_id, match, since, until)
    -- Use EXCEPT instead of a join: with a cached plan for few rows, a join of many rows would take quadratic time.
    SELECT number, identity_id, match, matched_on, moment FROM (
        SELECT number, identity_id, match, matched_on FROM old_rows WHERE identity_id IS NOT NULL
        EXCEPT SELECT number, identity_id, match, matched_on FROM new_rows) AS ended
    WHERE matched_on < moment
    ON CONFLICT (account_number, since) DO UPDATE SET until = greatest(p.until, EXCLUDED.until);
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER keep_past AFTER UPDATE ON accounts REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION keep_past_matches();

-- Audit pins only: all other matches are computed from imports and identities.
CREATE OR REPLACE FUNCTION note_pin() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM note_changes((SELECT string_agg(note::text, ',') FROM (VALUES
        (jsonb_build_object('kind', 'Account', 'id', OLD.id, 'part', '', 'was', jsonb_build_object('pin', OLD.pin, 'identityId', OLD.identity_id))),
        (jsonb_build_object('kind', 'Account', 'id', NEW.id, 'part', '', 'is', jsonb_build_object('pin', NEW.pin, 'identityId', NEW.identity_id)))
    ) AS notes (note)));
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER note_pin AFTER UPDATE ON accounts FOR EACH ROW
    WHEN (OLD.pin IS DISTINCT FROM NEW.pin OR NEW.pin IS NOT NULL AND OLD.identity_id IS DISTINCT FROM NEW.identity_id)
    EXECUTE FUNCTION note_pin();
