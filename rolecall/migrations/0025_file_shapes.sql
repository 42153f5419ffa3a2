-- Add how the files of a file group are read; null means that they have the standard form.
ALTER TABLE file_groups ADD COLUMN shape jsonb;
