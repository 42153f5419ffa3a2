-- Tokens have no functions of their own. Creating and revoking a token is audited, without its secret or the time of its last use.

CALL keep_audit('tokens', '''Token''', 'r.id', $$to_jsonb(r) - '{id,public_id,secret_sha256,last_used_at}'::text[]$$);
