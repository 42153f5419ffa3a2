-- The holders of each permission, at any time, in arrays: one row per permission and written set of assignments. An index of assignments
-- by permission takes as long to fill as everything else of a first import.
CREATE TABLE permission_holders (
    permission_number int NOT NULL,
    holders           int[] NOT NULL
);
-- Numbers of holders hardly compress.
ALTER TABLE permission_holders ALTER COLUMN holders SET STORAGE EXTERNAL;
INSERT INTO permission_holders SELECT permission_number, array_agg(DISTINCT holder_number) FROM assignments GROUP BY permission_number;
CREATE INDEX permission_holders_by_permission ON permission_holders (permission_number);
DROP INDEX assignments_by_permission;
