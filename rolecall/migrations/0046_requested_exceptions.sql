-- Use the word "request" for exceptions, as everywhere else.
ALTER TABLE conflict_exceptions RENAME COLUMN asked_by TO requested_by;
ALTER TABLE conflict_exceptions RENAME COLUMN asked_by_name TO requested_by_name;
