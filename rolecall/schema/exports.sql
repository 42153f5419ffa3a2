-- Exports are a list, newest first. Changes to an export, such as its start and end, are audited.

CALL keep_list('exports');
CALL keep_audit('exports', '''Export''', 'r.id', $$to_jsonb(r) - '{id,number,list_key,caller_id,caller_kind,caller_name,sha256}'::text[]
                || jsonb_build_object('sha256', encode(r.sha256, 'hex'))$$);
