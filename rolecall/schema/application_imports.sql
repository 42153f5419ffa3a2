-- Imports are a list, newest first; an import is audited with its files and its run as parts of it. The rows that an import writes are not.

CALL keep_list('application_imports', 'application_id');
CALL keep_audit('application_imports', '''Import''', 'r.id', $$to_jsonb(r) - '{id,list_key}'::text[]$$);
CALL keep_audit('import_runs', '''Import''', 'r.import_id',
                $$jsonb_build_object('held', r.held, 'isUnguarded', nullif(r.is_unguarded, false), 'rollbackTo', r.rollback_to, 'totals', r.totals)$$, $$'run'$$);
CALL keep_audit('import_files', '''Import''', 'r.import_id',
                $$jsonb_build_object('fileGroup', r.file_group, 'name', r.name, 'sha256', encode(r.sha256, 'hex'), 'size', r.size)$$, $$'files.' || r.position$$);
