-- Create the tables of what imports read: accounts, groups, memberships, permissions, assignments and identities. An
-- account, a group or a permission has one row, which is never deleted. What imports say about it is a row for each
-- interval [from_import, until_import) of numbers of finished imports; `until_import` is null for the current row.
-- Tables into which imports write millions of rows have no foreign keys, because only imports write them and
-- applications are never deleted.

-- Accounts and groups share one sequence, so that one integer identifies the holder of a permission.
CREATE SEQUENCE holder_numbers AS int;

CREATE TYPE access AS ENUM ('None', 'Unrestricted', 'Grant', 'Deny', 'Modify');

CREATE TABLE accounts (
    number         int PRIMARY KEY DEFAULT nextval('holder_numbers'),
    id             uuid NOT NULL UNIQUE DEFAULT gen_random_uuid(),
    application_id uuid NOT NULL,
    username       text COLLATE "C" NOT NULL,
    -- The match that a person decided and that no import changes: this identity (`Pinned`) or no identity (`Never`).
    pin            text,
    match          text NOT NULL DEFAULT 'Unmatched',
    identity_id    uuid,
    matched_on     timestamptz NOT NULL DEFAULT now(),
    UNIQUE (application_id, username),
    CONSTRAINT pin_is_known CHECK (pin IN ('Pinned', 'Never')),
    CONSTRAINT match_is_known CHECK (match IN ('Pinned', 'Never', 'Employee ID', 'Email', 'Name', 'Disputed', 'Unmatched'))
);
CREATE INDEX ON accounts (identity_id) WHERE identity_id IS NOT NULL;
CREATE INDEX ON accounts (application_id, match, username);

-- How many times matches of an application's accounts have changed. The names of stored lists of accounts contain this
-- number, so a new matching invalidates these lists. Matching first takes an advisory lock (`take_turn` in
-- accounts/matching.py), so that no transaction waits for a lock on these rows.
CREATE TABLE matchings (
    application_id uuid PRIMARY KEY,
    number         bigint NOT NULL
);

CREATE TABLE account_versions (
    account_number   int NOT NULL,
    from_import      int NOT NULL,
    until_import     int,
    name             text NOT NULL,
    first_name       text NOT NULL,
    last_name        text NOT NULL,
    email            text NOT NULL,
    employee_id      text NOT NULL,
    is_active        boolean NOT NULL,
    is_locked        boolean NOT NULL,
    last_login       text NOT NULL,
    password_changed text NOT NULL,
    -- A JSON object of headers and values. Its keys are sorted, so that equal metadata is equal text.
    metadata         text NOT NULL,
    -- The keys are computed by sort_key (core/text.py), like those of identities, so that matching by name ignores
    -- case.
    first_name_key   text COLLATE "C" NOT NULL,
    last_name_key    text COLLATE "C" NOT NULL,
    PRIMARY KEY (account_number, from_import)
);
CREATE INDEX ON account_versions (from_import);
CREATE INDEX ON account_versions (until_import) WHERE until_import IS NOT NULL;
CREATE INDEX account_versions_by_employee_id ON account_versions (lower(employee_id)) WHERE until_import IS NULL AND employee_id <> '';
CREATE INDEX account_versions_by_email ON account_versions (lower(email)) WHERE until_import IS NULL AND email <> '';
CREATE INDEX account_versions_by_name ON account_versions (last_name_key, first_name_key) WHERE until_import IS NULL AND last_name_key <> '';

-- Return a name in lower case, by the default collation: the collation of the columns only knows the case of English
-- letters. This function and the next one are here and not in schema/accounts.sql, because indexes store their results:
-- a migration that changes one of them must also rebuild its index.
CREATE FUNCTION in_any_case(name text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
    'SELECT lower(name COLLATE "default")';
-- Return a digest, so that index rows are short even if the names are long.
CREATE FUNCTION permission_in_any_case(header text, section text, permission text) RETURNS text
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
    'SELECT md5(lower((header || chr(1) || section || chr(1) || permission) COLLATE "default"))';

CREATE TABLE groups (
    number         int PRIMARY KEY DEFAULT nextval('holder_numbers'),
    id             uuid NOT NULL UNIQUE DEFAULT gen_random_uuid(),
    application_id uuid NOT NULL,
    name           text COLLATE "C" NOT NULL,
    UNIQUE (application_id, name)
);
CREATE INDEX groups_in_any_case ON groups (application_id, in_any_case(name));

CREATE TABLE group_versions (
    group_number int NOT NULL,
    from_import  int NOT NULL,
    until_import int,
    description  text NOT NULL,
    nomenclature text NOT NULL,
    parent       text NOT NULL,
    metadata     text NOT NULL,
    PRIMARY KEY (group_number, from_import)
);
CREATE INDEX ON group_versions (from_import);
CREATE INDEX ON group_versions (until_import) WHERE until_import IS NOT NULL;

-- The groups that a file of groups lists. A group that is not listed is in the application only while a membership or a
-- permission names it.
CREATE TABLE group_listings (
    group_number int NOT NULL,
    from_import  int NOT NULL,
    until_import int,
    PRIMARY KEY (group_number, from_import)
);
CREATE INDEX ON group_listings (from_import);
CREATE INDEX ON group_listings (until_import) WHERE until_import IS NOT NULL;

CREATE TABLE memberships (
    account_number int NOT NULL,
    group_number   int NOT NULL,
    from_import    int NOT NULL,
    until_import   int,
    PRIMARY KEY (account_number, group_number, from_import)
);
CREATE INDEX ON memberships (group_number);
CREATE INDEX ON memberships USING brin (from_import);
CREATE INDEX ON memberships (until_import) WHERE until_import IS NOT NULL;

CREATE TABLE permissions (
    number         int GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    id             uuid NOT NULL UNIQUE DEFAULT gen_random_uuid(),
    application_id uuid NOT NULL,
    header         text COLLATE "C" NOT NULL,
    section        text COLLATE "C" NOT NULL,
    permission     text COLLATE "C" NOT NULL
);
CREATE UNIQUE INDEX permissions_by_name ON permissions (application_id, header, section, permission);
CREATE INDEX permissions_in_any_case ON permissions (application_id, permission_in_any_case(header, section, permission));

CREATE TABLE permission_versions (
    permission_number int NOT NULL,
    from_import       int NOT NULL,
    until_import      int,
    description       text NOT NULL,
    risk_rating       text NOT NULL,
    PRIMARY KEY (permission_number, from_import),
    CONSTRAINT risk_rating_is_known CHECK (risk_rating IN ('None', 'Low', 'Moderate', 'High', 'Critical'))
);
CREATE INDEX ON permission_versions (from_import);
CREATE INDEX ON permission_versions (until_import) WHERE until_import IS NOT NULL;

CREATE TABLE assignments (
    -- The number of an account or of a group.
    holder_number     int NOT NULL,
    permission_number int NOT NULL,
    access            access NOT NULL,
    from_import       int NOT NULL,
    until_import      int,
    value             text NOT NULL,
    PRIMARY KEY (holder_number, permission_number, from_import)
);
CREATE INDEX ON assignments USING brin (from_import);
CREATE INDEX ON assignments (until_import) WHERE until_import IS NOT NULL;

-- The fields of a person as an identity source imported them; `identities` has the newest ones.
CREATE TABLE identity_versions (
    identity_id    uuid NOT NULL REFERENCES identities,
    application_id uuid NOT NULL,
    employee_id    text NOT NULL,
    from_import    int NOT NULL,
    until_import   int,
    fields         json NOT NULL,
    PRIMARY KEY (identity_id, application_id, from_import)
);
CREATE INDEX ON identity_versions (application_id, employee_id) WHERE until_import IS NULL;
CREATE INDEX ON identity_versions (from_import);
CREATE INDEX ON identity_versions (until_import) WHERE until_import IS NOT NULL;

-- The current number of records of an application, updated by each import: the totals of its lists, and the numbers
-- with which the guard compares the changes of an import.
CREATE TABLE application_totals (
    application_id uuid PRIMARY KEY REFERENCES applications,
    import_number  int NOT NULL,
    accounts       int NOT NULL DEFAULT 0,
    groups         int NOT NULL DEFAULT 0,
    memberships    int NOT NULL DEFAULT 0,
    permissions    int NOT NULL DEFAULT 0,
    assignments    int NOT NULL DEFAULT 0,
    identities     int NOT NULL DEFAULT 0
);

-- The state of the run of each import.
CREATE TABLE import_runs (
    import_id    uuid PRIMARY KEY REFERENCES application_imports,
    attempts     int NOT NULL DEFAULT 0,
    -- The reason why the guard holds the import; null if it does not.
    held         text,
    is_unguarded boolean NOT NULL DEFAULT false,
    -- The number of the import whose content a rollback makes current again.
    rollback_to  int,
    -- The numbers of rows that were read, applied, unchanged and rejected, by file.
    totals       jsonb,
    -- The numbers of changes of each kind, for the change list.
    changes      jsonb,
    -- The files from which the state of the application after this import was built.
    sources      jsonb
);

CREATE TABLE import_rejects (
    import_id uuid NOT NULL REFERENCES application_imports,
    file_id   uuid NOT NULL,
    line      int NOT NULL,
    reason    text NOT NULL,
    row       json NOT NULL,
    PRIMARY KEY (import_id, file_id, line)
);

-- A queue of finished imports for the closed loop, which deletes the rows that it takes.
CREATE TABLE finished_imports (
    import_id      uuid PRIMARY KEY REFERENCES application_imports,
    application_id uuid NOT NULL REFERENCES applications
);

-- When the schedule of an application last fired, and how often an import was skipped because the previous one was
-- unfinished.
CREATE TABLE schedule_firings (
    application_id uuid PRIMARY KEY REFERENCES applications,
    fired_at       timestamptz NOT NULL,
    skipped        bigint NOT NULL DEFAULT 0
);

CREATE INDEX ON identities (lower(employee_id)) WHERE employee_id IS NOT NULL;

-- A queue of changed people, with the fields by which they are matched, before and after the change. Matching deletes
-- the rows that it takes.
CREATE TABLE identities_to_match (
    number         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    identity_id    uuid NOT NULL,
    employee_id    text,
    email_address  text NOT NULL,
    last_name_key  text COLLATE "C" NOT NULL,
    first_name_key text COLLATE "C" NOT NULL
);
