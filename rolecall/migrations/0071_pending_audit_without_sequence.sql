-- The sequence of an unlogged table cannot be read after a replica was promoted ("bad magic number"), and every write failed. The
-- transaction's own id is as good: a transaction has one row, and nobody else sees it.
ALTER TABLE audit_pending ALTER COLUMN number DROP IDENTITY;
ALTER TABLE audit_pending ALTER COLUMN number SET DEFAULT pg_current_xact_id()::text::bigint;
