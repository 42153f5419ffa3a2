-- Store the applications about which an export for a past moment has no data.
ALTER TABLE exports ADD COLUMN no_data_before jsonb NOT NULL DEFAULT '[]';
