-- The applications that an export for a past moment has no data about.
ALTER TABLE exports ADD COLUMN no_data_before jsonb NOT NULL DEFAULT '[]';
