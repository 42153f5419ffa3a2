-- Patterns of duties match an application by its current and former names, so that a new name ends no conflict.
ALTER TABLE applications ADD COLUMN former_names text[] NOT NULL DEFAULT '{}';
