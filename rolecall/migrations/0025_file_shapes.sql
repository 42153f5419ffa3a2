-- How the files of a group are read; null means that they are in standard form.
ALTER TABLE file_groups ADD COLUMN shape jsonb;
