-- List an import that was canceled before it started at the time of its cancellation, not before all others. From now
-- on, a trigger computes the key (schema/application_imports.sql), because PostgreSQL before version 17 cannot change
-- the expression of a generated column.
ALTER TABLE application_imports ALTER COLUMN list_key DROP EXPRESSION;
UPDATE application_imports SET list_key = time_key(build_end, number) WHERE build_start IS NULL AND build_end IS NOT NULL;

-- Remove the supervisor of people who are recorded as their own supervisor.
UPDATE identities SET supervisor_id = NULL WHERE supervisor_id = id;
UPDATE personnel_events SET changes = changes - 'supervisor_id' WHERE changes ->> 'supervisor_id' = identity_id::text;
