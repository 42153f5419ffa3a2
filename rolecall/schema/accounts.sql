-- Accounts and what they hold: names and ranks in queries, and the triggers behind matching.
--
-- UPDATE accounts (accounts/matching.py and actions.py) fires `count_matching`, and `note_pin` where a person pins an account.
-- INSERT or UPDATE of identities (identities/actions.py, application_imports/people_file.py and identity_source.py) fires `note_to_match_on_…`.

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
