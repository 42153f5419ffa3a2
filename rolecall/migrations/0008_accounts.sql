-- What applications hold: accounts, groups, memberships, permissions, assignments. Who or what exists has one row for
-- ever; what was said of it is a row for each interval [from_import, until_import), numbers of finished imports.
-- `until_import IS NULL` is now. No foreign keys on the rows an import writes by the million: imports are the only
-- writer, and applications are never deleted.

-- Accounts and groups share their numbers: whatever holds a permission is one integer.
CREATE SEQUENCE holder_numbers AS int;

CREATE TYPE access AS ENUM ('None', 'Unrestricted', 'Grant', 'Deny', 'Modify');

CREATE TABLE accounts (
    number         int PRIMARY KEY DEFAULT nextval('holder_numbers'),
    id             uuid NOT NULL UNIQUE DEFAULT gen_random_uuid(),
    application_id uuid NOT NULL,
    username       text COLLATE "C" NOT NULL,
    -- A person's word that outlasts every import: this identity (`Pinned`) or none (`Never`).
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

-- How often the accounts of an application found other matches: what names the lists of accounts by match. Whoever
-- matches holds the lock of `accounts/matching.py`, so nobody waits for these rows.
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
    -- A JSON object of header and value, keys in order: the same metadata is the same text.
    metadata         text NOT NULL,
    -- Made by core/text.sort_key, as an identity's are: matching by name ignores case.
    first_name_key   text COLLATE "C" NOT NULL,
    last_name_key    text COLLATE "C" NOT NULL,
    PRIMARY KEY (account_number, from_import)
);
CREATE INDEX ON account_versions (from_import);
CREATE INDEX ON account_versions (until_import) WHERE until_import IS NOT NULL;
CREATE INDEX account_versions_by_employee_id ON account_versions (lower(employee_id)) WHERE until_import IS NULL AND employee_id <> '';
CREATE INDEX account_versions_by_email ON account_versions (lower(email)) WHERE until_import IS NULL AND email <> '';
CREATE INDEX account_versions_by_name ON account_versions (last_name_key, first_name_key) WHERE until_import IS NULL AND last_name_key <> '';

-- Names without regard to case; the columns' own collation knows the case of English letters only. Here, not in schema/accounts.sql:
-- indexes store the results of these two functions, so a change of one must rebuild its index.
CREATE FUNCTION in_any_case(name text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
    'SELECT lower(name COLLATE "default")';
-- A digest: index rows stay short however long the names are.
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

-- The groups that a file of groups lists; another is only named by a membership or a permission, and goes with it.
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

-- What an identity source said of a person; `identities` shows the newest.
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

-- How much an application holds now, kept by each import: the totals of its lists and what the guard measures against.
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

-- What a run needs to know of itself beside the import that people see.
CREATE TABLE import_runs (
    import_id    uuid PRIMARY KEY REFERENCES application_imports,
    attempts     int NOT NULL DEFAULT 0,
    -- Why the guard holds it; null when it does not.
    held         text,
    is_unguarded boolean NOT NULL DEFAULT false,
    -- The import whose state this run puts back.
    rollback_to  int,
    -- Rows read, applied, unchanged and rejected, by file.
    totals       jsonb,
    -- How many changes of each kind, for the change list.
    changes      jsonb,
    -- The files that the application's state after this import was made of.
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

-- The inbox of whoever waits for imports: a row for each finished one, taken by deleting it.
CREATE TABLE finished_imports (
    import_id      uuid PRIMARY KEY REFERENCES application_imports,
    application_id uuid NOT NULL REFERENCES applications
);

-- When an application's schedule last fired, and how often that was skipped because the run before was not done.
CREATE TABLE schedule_firings (
    application_id uuid PRIMARY KEY REFERENCES applications,
    fired_at       timestamptz NOT NULL,
    skipped        bigint NOT NULL DEFAULT 0
);

CREATE INDEX ON identities (lower(employee_id)) WHERE employee_id IS NOT NULL;

-- What changed in people that matching goes by, before and after; matching takes it by deleting it.
CREATE TABLE identities_to_match (
    number         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    identity_id    uuid NOT NULL,
    employee_id    text,
    email_address  text NOT NULL,
    last_name_key  text COLLATE "C" NOT NULL,
    first_name_key text COLLATE "C" NOT NULL
);
