-- Store the reason of a failed import in a column. It was only in the last line of the log before:
-- `2030-01-31T09:00:00Z Failed: the reason`.
ALTER TABLE application_imports ADD COLUMN failure text;

-- Disable the triggers, because this only copies a text: neither the list nor the audit trail changes.
ALTER TABLE application_imports DISABLE TRIGGER USER;
UPDATE application_imports i SET failure = substr(l.line, 30)
FROM (SELECT DISTINCT ON (import_id) import_id, line FROM import_log ORDER BY import_id, number DESC) AS l
WHERE l.import_id = i.id AND i.status = 'Failed' AND substr(l.line, 21, 9) = ' Failed: ';
ALTER TABLE application_imports ENABLE TRIGGER USER;
