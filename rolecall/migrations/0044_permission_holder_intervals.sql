-- Add to each row which import gave the holders the permission and with which access, or which import took it from
-- them. Then the holders of a permission are found without reading its assignments, which are spread over the whole
-- table.
ALTER TABLE permission_holders ADD COLUMN from_import int, ADD COLUMN access access, ADD COLUMN until_import int;
TRUNCATE permission_holders;
INSERT INTO permission_holders (permission_number, from_import, access, holders)
SELECT permission_number, from_import, access, array_agg(holder_number) FROM assignments GROUP BY permission_number, from_import, access;
INSERT INTO permission_holders (permission_number, until_import, holders)
SELECT permission_number, until_import, array_agg(holder_number) FROM assignments WHERE until_import IS NOT NULL
GROUP BY permission_number, until_import;
ALTER TABLE permission_holders ADD CHECK (num_nonnulls(from_import, until_import) = 1 AND (from_import IS NULL) = (access IS NULL));
