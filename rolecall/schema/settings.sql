-- Every change of a setting is audited.

CALL keep_audit('settings', '''Settings''', $$'00000000-0000-0000-0000-000000000000'::uuid$$, 'jsonb_build_object(''value'', r.value)', 'camel(r.name)');
