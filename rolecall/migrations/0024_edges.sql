-- List an import that was canceled before it started at the time of its cancelation, not before everything else.
-- A trigger computes the key from here on: a generated column cannot get another expression before PostgreSQL 17.
ALTER TABLE application_imports ALTER COLUMN list_key DROP EXPRESSION;
CREATE FUNCTION key_application_import() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.list_key := time_key(coalesce(NEW.build_start, NEW.build_end), NEW.number);
    RETURN NEW;
END $$;
CREATE TRIGGER key_row BEFORE INSERT OR UPDATE ON application_imports FOR EACH ROW EXECUTE FUNCTION key_application_import();
UPDATE application_imports SET list_key = NULL WHERE build_start IS NULL AND build_end IS NOT NULL;

-- Nobody is their own supervisor.
UPDATE identities SET supervisor_id = NULL WHERE supervisor_id = id;
UPDATE personnel_events SET changes = changes - 'supervisor_id' WHERE changes ->> 'supervisor_id' = identity_id::text;
