-- Identities are a list, sorted by name. Changes are audited, except those made by imports.
--
-- UPDATE of an identity fires `keep_past_departures`, and UPDATE of its e-mail fires `confirm_email`. INSERT and UPDATE also fire triggers of
-- other packages:
-- note_to_match_on_… (accounts.sql), refresh_members_on_… (access_models.sql), note_acting_owners (entitlements.sql),
-- move_duty_holders (duties.sql), end_sign_ins, end_former_rights, end_sign_ins_of_email and end_sign_ins_of_found (console.sql),
-- notify_of_acting_owners and notify_of_left_control_owners (notifications.sql).

-- Regard a changed e-mail as confirmed: the person can sign in with it at once. If it needs a confirmation, `withhold_email`
-- (identities/actions.py) records this after the change. An UPDATE that sets the same e-mail again confirms nothing, because imports set all
-- columns. To confirm an unchanged e-mail, `confirm_email` (identities/actions.py) and application_imports/apply/identities.py delete its row
-- in unconfirmed_emails.
CREATE OR REPLACE FUNCTION confirm_email() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM unconfirmed_emails WHERE identity_id = NEW.id;
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER confirm_email AFTER UPDATE OF email_address ON identities FOR EACH ROW
    WHEN (OLD.email_address <> NEW.email_address) EXECUTE FUNCTION confirm_email();

-- Return whether someone has this e-mail as a confirmed e-mail, ignoring case: as their current e-mail or, until that is confirmed, as the
-- former e-mail with which they still sign in.
CREATE OR REPLACE FUNCTION has_confirmed_bearer(email text) RETURNS boolean STABLE LANGUAGE sql RETURN email <> '' AND (
    EXISTS (SELECT FROM identities i WHERE lower(i.email_address) = lower(email) AND i.email_address <> ''
            AND NOT EXISTS (SELECT FROM unconfirmed_emails u WHERE u.identity_id = i.id))
    OR EXISTS (SELECT FROM unconfirmed_emails u WHERE lower(u.sign_in_email) = lower(email) AND u.sign_in_email <> ''));

-- When people return, store the period in which they were inactive, because their return clears `inactivated_date`.
CREATE OR REPLACE FUNCTION keep_past_departures() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    back uuid[] := ARRAY(SELECT id FROM old_rows WHERE status <> 'Active' INTERSECT SELECT id FROM new_rows WHERE status = 'Active');
BEGIN
    INSERT INTO past_departures AS p (identity_id, since, until)
    SELECT id, inactivated_date, written_on() FROM old_rows WHERE id = ANY (back) AND inactivated_date < written_on()
    ON CONFLICT (identity_id, since) DO UPDATE SET until = greatest(p.until, EXCLUDED.until);
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER keep_past_departures AFTER UPDATE ON identities REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION keep_past_departures();

CALL keep_list('identities');
CALL keep_audit('unconfirmed_emails', '''Identity''', 'r.identity_id', $$jsonb_build_object('signInEmail', r.sign_in_email)$$, $$'signInEmail'$$);
CALL keep_audit('identities', '''Identity''', 'r.id', $$to_jsonb(r) - '{id,last_name_key,first_name_key,list_key}'::text[]$$,
    name => $$concat_ws(' ', r.first_name, r.last_name)$$);
