-- List an import that was canceled before it started at the time of its cancelation, not before everything else.
-- A trigger computes the key from here on (schema/application_imports.sql): a generated column cannot get another expression before PostgreSQL 17.
ALTER TABLE application_imports ALTER COLUMN list_key DROP EXPRESSION;
UPDATE application_imports SET list_key = time_key(build_end, number) WHERE build_start IS NULL AND build_end IS NOT NULL;

-- Nobody is their own supervisor.
UPDATE identities SET supervisor_id = NULL WHERE supervisor_id = id;
UPDATE personnel_events SET changes = changes - 'supervisor_id' WHERE changes ->> 'supervisor_id' = identity_id::text;
