-- Accounts and what they hold: names and ranks in queries, and the triggers behind matching.
--
-- UPDATE accounts (accounts/matching.py and actions.py) fires `count_matching` and `keep_past`, and `note_pin` where a person pins an account.
-- INSERT or UPDATE of identities (identities/actions.py, application_imports/apply/people.py, application_imports/apply/identities.py) fires `note_to_match_on_…`.

-- Number the matchings of an application: lists of accounts by match are named by it, so a new number ends their stored pages.
CREATE OR REPLACE FUNCTION count_matching() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO matchings SELECT DISTINCT application_id, 1 FROM new_rows
    ON CONFLICT (application_id) DO UPDATE SET number = matchings.number + 1;
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER count_matching AFTER UPDATE ON accounts REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION count_matching();

-- The header of a privilege that is membership of a group.
CREATE OR REPLACE FUNCTION group_header(nomenclature text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN coalesce(nullif(nomenclature, ''), default_group_header());
-- Ranks of access and of risk; as text they would sort by the alphabet.
CREATE OR REPLACE FUNCTION access_rank(access text) RETURNS int LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN array_position(access_in_order(), access);
CREATE OR REPLACE FUNCTION risk_rank(rating text) RETURNS int LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN array_position(levels_in_order(), rating);

-- Rate a group as the riskiest permission that it or a group above it gives, now or after the import `as_of`.
-- UNION drops groups that were met before, so a cycle of parents ends.
CREATE OR REPLACE FUNCTION group_risk_at(number int, as_of int) RETURNS text STABLE LANGUAGE sql BEGIN ATOMIC
    WITH RECURSIVE above (number) AS (
        SELECT group_risk_at.number
        UNION
        SELECT parent.number FROM above
        JOIN group_versions v ON v.group_number = above.number AND v.parent <> ''
             AND v.from_import <= coalesce(as_of, v.from_import) AND (v.until_import IS NULL OR v.until_import > as_of)
        JOIN groups child ON child.number = above.number
        JOIN groups parent ON parent.application_id = child.application_id
             AND in_any_case(parent.name) = in_any_case(v.parent)
    )
    SELECT coalesce((
        SELECT v.risk_rating FROM above
        JOIN assignments s ON s.holder_number = above.number AND s.access <> 'None'
             AND s.from_import <= coalesce(as_of, s.from_import) AND (s.until_import IS NULL OR s.until_import > as_of)
        JOIN permission_versions v ON v.permission_number = s.permission_number
             AND v.from_import <= coalesce(as_of, v.from_import) AND (v.until_import IS NULL OR v.until_import > as_of)
        ORDER BY risk_rank(v.risk_rating) DESC LIMIT 1), 'None');
END;
CREATE OR REPLACE FUNCTION group_risk(number int) RETURNS text STABLE LANGUAGE sql RETURN group_risk_at(number, NULL);

-- Rate a privilege by the permission and the group that its name stands for; null when the catalogue has neither.
CREATE OR REPLACE FUNCTION known_risk(permission int, membership int) RETURNS text STABLE LANGUAGE sql BEGIN ATOMIC
    SELECT rated.risk FROM (
        SELECT v.risk_rating AS risk FROM permission_versions v
        WHERE v.permission_number = permission AND v.until_import IS NULL
        UNION ALL
        SELECT group_risk(v.group_number) FROM group_versions v
        WHERE v.group_number = membership AND v.until_import IS NULL
    ) AS rated ORDER BY risk_rank(rated.risk) DESC LIMIT 1;
END;
-- What the catalogue does not have counts as Critical.
CREATE OR REPLACE FUNCTION privilege_risk(permission int, membership int) RETURNS text STABLE LANGUAGE sql
    RETURN coalesce(known_risk(permission, membership), 'Critical');

-- The raw value that most holders of this access have; where none has this access, of another access that gives something.
CREATE OR REPLACE FUNCTION usual_value(permission int, wanted text) RETURNS text STABLE LANGUAGE sql BEGIN ATOMIC
    SELECT found.value FROM unnest(ARRAY[wanted, 'Grant', 'Modify', 'Unrestricted']) WITH ORDINALITY AS a (access, place)
    CROSS JOIN LATERAL (
        SELECT v.value FROM permission_values v
        WHERE v.permission_number = permission AND v.access = a.access::access AND v.holders > 0
        ORDER BY v.holders DESC, v.digest LIMIT 1
    ) AS found ORDER BY a.place LIMIT 1;
END;

-- Queue the matching keys of identities, before and after a change; accounts/matching.py takes them by deleting them.
CREATE OR REPLACE FUNCTION note_identities_to_match() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO identities_to_match (identity_id, employee_id, email_address, last_name_key, first_name_key)
        SELECT id, employee_id, email_address, last_name_key, first_name_key FROM new_rows;
    ELSE
        INSERT INTO identities_to_match (identity_id, employee_id, email_address, last_name_key, first_name_key)
        -- EXCEPT, not a join: a session keeps the plan of its first update, which may have had one row.
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

-- Keep whose an account was until now: docs/decisions/0185.
CREATE OR REPLACE FUNCTION keep_past_matches() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    -- One statement matches at one moment.
    moment timestamptz := (SELECT max(matched_on) FROM new_rows);
BEGIN
    IF NOT EXISTS (SELECT FROM old_rows WHERE identity_id IS NOT NULL) THEN
        RETURN NULL;
    END IF;
    INSERT INTO past_matches AS p (account_number, identity_id, since, until)
    -- Differences of sets, not a join: linear whatever plan a session kept.
    SELECT number, identity_id, matched_on, moment FROM (
        SELECT number, identity_id, matched_on FROM old_rows WHERE identity_id IS NOT NULL
        EXCEPT SELECT number, identity_id, matched_on FROM new_rows) AS ended
    WHERE matched_on < moment
    ON CONFLICT (account_number, since) DO UPDATE SET until = greatest(p.until, EXCLUDED.until);
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER keep_past AFTER UPDATE ON accounts REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION keep_past_matches();

-- Audit what a person says of an account; what matching finds follows from imports and identities.
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
