-- Who made a token: a person acts through their tokens too. Null for tokens made at the command line, or before this version.
ALTER TABLE tokens ADD COLUMN owner_id uuid;

-- The token or person who chose an import's data by uploading files or by rolling back; null for files of a schedule.
ALTER TABLE application_imports ADD COLUMN supplied_by uuid;
