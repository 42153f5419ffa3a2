-- SCIM tokens are audited as a part of their application, without their secret or the time of their last use
-- (scim_server/actions.py). Pushed resources are not audited: the import that reads them has an audit entry, a file and a change set.

CALL keep_audit('scim_tokens', '''Application''', 'r.application_id', $$to_jsonb(r) - '{id,application_id,public_id,secret_sha256,last_used_at}'::text[]$$, $$'scimToken.' || r.name$$);
