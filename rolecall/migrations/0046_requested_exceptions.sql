-- Rename the columns, because an exception is requested, and the word "ask" is used for nothing else.
ALTER TABLE conflict_exceptions RENAME COLUMN asked_by TO requested_by;
ALTER TABLE conflict_exceptions RENAME COLUMN asked_by_name TO requested_by_name;
