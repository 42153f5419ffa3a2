-- Applications are listed by name. An application is audited together with its connector, file groups and schedule.

CALL keep_list('applications');
CALL keep_audit('applications', '''Application''', 'r.id', $$to_jsonb(r) - '{id,name_key,list_key,former_names}'::text[]$$);
CALL keep_audit('connectors', '''Application''', 'r.application_id', $$to_jsonb(r) - '{id,application_id}'::text[]$$, $$'connector'$$);
-- File groups that are deleted with their connector no longer have an application, so their deletion is not audited.
CALL keep_audit('file_groups', '''Application''', '(SELECT c.application_id FROM connectors c WHERE c.id = r.connector_id)',
                $$to_jsonb(r) - '{id,connector_id,name}'::text[]$$, $$'fileGroups.' || r.name$$);
CALL keep_audit('schedules', '''Application''', 'r.application_id', $$to_jsonb(r) - '{application_id}'::text[]$$, $$'schedule'$$);

-- Return the contents of the files of a file group: its content, the contents that its shape adds, and users if these contents derive them.
CREATE OR REPLACE FUNCTION contents_of(g file_groups) RETURNS text[] IMMUTABLE LANGUAGE sql RETURN
    g.content || ARRAY(SELECT e ->> 'content' FROM jsonb_array_elements(g.shape -> 'contents') AS e)
    || CASE WHEN g.shape @? '$.deriveUsers ? (@ == true)' OR g.shape @? '$.contents[*].shape.deriveUsers ? (@ == true)'
            THEN ARRAY['users'] ELSE '{}' END;
