-- Who made a token: a person acts through their tokens too. Null for tokens made at the command line, or before this version.
ALTER TABLE tokens ADD COLUMN owner_id uuid;

-- The token or person who chose an import's data by uploading files or by rolling back; null for files of a schedule.
ALTER TABLE application_imports ADD COLUMN supplied_by uuid;

-- A held import that would lower high risk ratings is continued by another person.
ALTER TABLE import_runs ADD COLUMN lowers_risk boolean NOT NULL DEFAULT false;
