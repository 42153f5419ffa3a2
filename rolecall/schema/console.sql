-- The sessions of console users end when they leave, when their e-mail changes, and when an import finds them by an unconfirmed e-mail. Their
-- former role and password are deleted when they return. Changes to their roles and to the data for signing in are audited without secrets.
--
-- UPDATE of an identity's status fires `end_sign_ins` or `end_former_rights`. UPDATE of its e-mail fires `end_sign_ins_of_email`, and UPDATE of
-- its employee ID `end_sign_ins_of_found`.

-- End the sessions and sign-in links of a person. When the person leaves, wait also for the writes that have begun with their tokens;
-- `sign_as_token` (tokens/actions.py) refuses later ones.
CREATE OR REPLACE FUNCTION end_sign_ins() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    -- Check before deleting: an import may deactivate thousands of people, and few of them have signed in.
    IF EXISTS (SELECT FROM sign_in_links WHERE identity_id = NEW.id)
       OR EXISTS (SELECT FROM console_sessions WHERE identity_id = NEW.id) THEN
        DELETE FROM sign_in_links WHERE identity_id = NEW.id;
        DELETE FROM console_sessions WHERE identity_id = NEW.id;
    END IF;
    IF NEW.status <> 'Active' THEN
        -- Lock the tokens after the sessions, to avoid a deadlock: a person who revokes one of these tokens has locked their own session first.
        PERFORM FROM tokens WHERE owner_id = NEW.id ORDER BY id FOR UPDATE;
    END IF;
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER end_sign_ins AFTER UPDATE OF status ON identities FOR EACH ROW
    WHEN (OLD.status = 'Active' AND NEW.status <> 'Active') EXECUTE FUNCTION end_sign_ins();
-- Delete the former role and password of a person who returns: docs/decisions/0136.
CREATE OR REPLACE FUNCTION end_former_rights() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM console_roles WHERE identity_id = NEW.id;
    DELETE FROM console_passwords WHERE identity_id = NEW.id;
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER end_former_rights AFTER UPDATE OF status ON identities FOR EACH ROW
    WHEN (OLD.status <> 'Active' AND NEW.status = 'Active') EXECUTE FUNCTION end_former_rights();
-- End sessions and links when the e-mail changes, because people without a role sign in with their e-mail.
CREATE OR REPLACE TRIGGER end_sign_ins_of_email AFTER UPDATE OF email_address ON identities FOR EACH ROW
    WHEN (lower(OLD.email_address) <> lower(NEW.email_address)) EXECUTE FUNCTION end_sign_ins();

-- When an import finds a person by an e-mail that was never confirmed, delete the password, sessions and links: they belong to someone
-- who signed in with an earlier e-mail.
CREATE OR REPLACE FUNCTION end_sign_ins_of_found() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM unconfirmed_emails WHERE identity_id = NEW.id AND sign_in_email = '') THEN
        DELETE FROM console_passwords WHERE identity_id = NEW.id;
        DELETE FROM sign_in_links WHERE identity_id = NEW.id;
        DELETE FROM console_sessions WHERE identity_id = NEW.id;
    END IF;
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER end_sign_ins_of_found AFTER UPDATE OF employee_id ON identities FOR EACH ROW
    WHEN (OLD.employee_id IS NULL AND NEW.employee_id IS NOT NULL) EXECUTE FUNCTION end_sign_ins_of_found();

CALL keep_audit('console_roles', '''Console User''', 'r.identity_id', $$jsonb_build_object('role', r.role, 'email', r.email)$$);
CALL keep_audit('console_passwords', '''Console User''', 'r.identity_id', $$jsonb_build_object('setAt', r.set_at)$$, $$'password'$$);
CALL keep_audit('console_sessions', '''Console User''', 'r.identity_id', $$jsonb_build_object('createdAt', r.created_at)$$, $$'session'$$);
CALL keep_audit('sign_in_links', '''Console User''', 'r.identity_id', $$jsonb_build_object('expiresAt', r.expires_at, 'usedAt', r.used_at)$$, $$'signInLink'$$);
