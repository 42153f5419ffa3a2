-- Store the past and present holders of each permission in arrays: one row for each permission and each set of
-- assignments that was written. An index of assignments by permission would take as long to fill as everything else in
-- a first import.
CREATE TABLE permission_holders (
    permission_number int NOT NULL,
    holders           int[] NOT NULL
);
-- Store the arrays without compression, because numbers of holders hardly compress.
ALTER TABLE permission_holders ALTER COLUMN holders SET STORAGE EXTERNAL;
INSERT INTO permission_holders SELECT permission_number, array_agg(DISTINCT holder_number) FROM assignments GROUP BY permission_number;
CREATE INDEX permission_holders_by_permission ON permission_holders (permission_number);
DROP INDEX assignments_by_permission;
