-- Identities are a list in order of their names, and every change of one is audited unless an import makes it.
--
-- An INSERT or UPDATE here (identities/actions.py, application_imports/apply/people.py, application_imports/apply/identities.py) also fires triggers of packages above:
-- note_to_match_on_… (accounts.sql), refresh_members_on_… (access_models.sql) and forget_sign_ins (console.sql).

CALL keep_list('identities');
CALL keep_audit('identities', '''Identity''', 'r.id', $$to_jsonb(r) - '{id,last_name_key,first_name_key,list_key}'::text[]$$);
