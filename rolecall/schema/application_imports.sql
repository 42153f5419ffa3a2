-- Imports are listed newest first. An import is audited together with its files and its run; the rows that it writes are not audited.
--
-- INSERT and UPDATE of application_imports fire `key_row`, which computes `list_key`.

-- Compute the position of an import in the list. An import that was canceled before it started is listed at the time of its cancellation, and
-- an import that waits to start is listed as the newest.
CREATE OR REPLACE FUNCTION key_application_import() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.list_key := time_key(coalesce(NEW.build_start, NEW.build_end), NEW.number);
    RETURN NEW;
END $$;
CREATE OR REPLACE TRIGGER key_row BEFORE INSERT OR UPDATE ON application_imports FOR EACH ROW EXECUTE FUNCTION key_application_import();

CALL keep_list('application_imports', 'application_id');
CALL keep_audit('application_imports', '''Import''', 'r.id', $$to_jsonb(r) - '{id,list_key,supplied_by}'::text[]$$);
CALL keep_audit('import_runs', '''Import''', 'r.import_id',
                $$jsonb_build_object('held', r.held, 'isUnguarded', nullif(r.is_unguarded, false), 'lowersRisk', nullif(r.lowers_risk, false), 'rollbackTo', r.rollback_to, 'totals', r.totals)$$, $$'run'$$);
CALL keep_audit('import_files', '''Import''', 'r.import_id',
                $$jsonb_build_object('fileGroup', r.file_group, 'name', r.name, 'sha256', encode(r.sha256, 'hex'), 'size', r.size)$$, $$'files.' || r.position$$);
