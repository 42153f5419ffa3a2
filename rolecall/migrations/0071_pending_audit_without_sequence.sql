-- Use the id of the transaction as the number of a row. After a replica was promoted, the sequence of an unlogged table
-- could not be read ("bad magic number"), and every write failed. The id is unique, because a transaction has only one
-- row.
ALTER TABLE audit_pending ALTER COLUMN number DROP IDENTITY;
ALTER TABLE audit_pending ALTER COLUMN number SET DEFAULT pg_current_xact_id()::text::bigint;
