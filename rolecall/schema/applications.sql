-- Applications are a list in order of their names. They are audited with their connector, file groups and schedule as parts of them.

CALL keep_list('applications');
CALL keep_audit('applications', '''Application''', 'r.id', $$to_jsonb(r) - '{id,name_key,list_key,former_names}'::text[]$$);
CALL keep_audit('connectors', '''Application''', 'r.application_id', $$to_jsonb(r) - '{id,application_id}'::text[]$$, $$'connector'$$);
-- File groups that are deleted with their connector no longer have an application, so their deletion is not audited.
CALL keep_audit('file_groups', '''Application''', '(SELECT c.application_id FROM connectors c WHERE c.id = r.connector_id)',
                $$to_jsonb(r) - '{id,connector_id,name}'::text[]$$, $$'fileGroups.' || r.name$$);
CALL keep_audit('schedules', '''Application''', 'r.application_id', $$to_jsonb(r) - '{application_id}'::text[]$$, $$'schedule'$$);
