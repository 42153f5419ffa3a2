-- An UPDATE that may change a column of a unique index locks the row against foreign keys, unless the index is partial. So nobody could make a
-- request, get a notification or sign in while an import that changed their name had not committed, and the two could deadlock. The same held
-- for every change of an application, because a trigger could change `list_key`. No index on `list_key` needs to be unique: it ends with the id.
DROP INDEX identities_listed_;
CREATE INDEX identities_listed_ ON identities (list_key);
DROP INDEX identities_employee_id_idx;
CREATE UNIQUE INDEX identities_employee_id_idx ON identities (employee_id) WHERE employee_id IS NOT NULL;
DROP INDEX applications_listed_;
CREATE INDEX applications_listed_ ON applications (list_key);
