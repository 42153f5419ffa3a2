-- Store the former names of applications. The patterns of duties match current and former names, so that renaming an
-- application does not end a conflict.
ALTER TABLE applications ADD COLUMN former_names text[] NOT NULL DEFAULT '{}';
