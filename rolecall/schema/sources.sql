-- A source is audited as a part of its application (sources/actions.py). For a secret, its host and the time when it was set are
-- audited, never its value.

CALL keep_audit('sources', '''Application''', 'r.application_id', $$to_jsonb(r) - '{application_id}'::text[]$$, $$'source'$$);
CALL keep_audit('source_secrets', '''Application''', 'r.application_id', $$jsonb_build_object('host', r.host, 'setOn', r.set_on)$$, $$'secret.' || r.name$$);
