-- The creation and the revocation of a token are audited, without its secret and the time of its last use.

CALL keep_audit('tokens', '''Token''', 'r.id', $$to_jsonb(r) - '{id,public_id,secret_sha256,last_used_at}'::text[]$$);
