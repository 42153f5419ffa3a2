-- Create the tables of lists, settings, tokens, idempotency keys and identities. Lists have exact totals at a constant
-- cost: docs/lists.md explains their tables, and schema/core.sql has their functions.
--
-- The tables that are kept as lists, with the columns by which each can be filtered. keep_list writes the rows.
CREATE TABLE lists (
    name   text PRIMARY KEY,
    facets text[] NOT NULL
);

-- The contents of each list under each filter: the total, and about every thousandth key (`starts[n]` rows come before
-- `keys[n]`). A facet is a combination of filter values: {} without a filter, {"status": "Open"}, …
CREATE TABLE list_contents (
    list   text NOT NULL,
    facet  jsonb NOT NULL,
    total  bigint NOT NULL,
    keys   text[] COLLATE "C" NOT NULL,
    starts bigint[] NOT NULL,
    PRIMARY KEY (list, facet)
) WITH (fillfactor = 50);
ALTER TABLE list_contents ALTER keys SET STORAGE EXTERNAL, ALTER starts SET STORAGE EXTERNAL;

-- The rows that were added to a list (1) or removed from it (-1) since its contents were written. In every snapshot, a
-- list is its contents plus its changes. Writers only insert here, so they never wait for each other.
CREATE TABLE list_changes (
    number bigint GENERATED ALWAYS AS IDENTITY,
    list   text NOT NULL,
    key    text COLLATE "C" NOT NULL,
    facets jsonb NOT NULL,
    rows   int NOT NULL
);
CREATE INDEX ON list_changes (list);

-- Return a key that sorts by time and then by number; a null time sorts last. The function is here and not in
-- schema/core.sql, because generated columns store its results: a migration that changes it must also rewrite their
-- tables.
CREATE FUNCTION time_key(moment timestamptz, number bigint) RETURNS text IMMUTABLE LANGUAGE sql RETURN
    coalesce(lpad((extract(epoch FROM moment AT TIME ZONE 'UTC' - timestamp '0001-01-01') * 1000000)::bigint::text, 18, '0'), repeat('9', 18))
    || lpad(number::text, 12, '0');

-- The first key of each page of the lists that never change again, such as the accounts of an application after one
-- import. The first reader stores the rows, and they are deleted after a week. Page 0 has only the total.
CREATE TABLE settled_pages (
    list     text COLLATE "C" NOT NULL,
    page     int NOT NULL,
    total    bigint NOT NULL,
    key      text[] COLLATE "C",
    found_on timestamptz NOT NULL,
    PRIMARY KEY (list, page)
);
CREATE INDEX settled_pages_by_age ON settled_pages (found_on) WHERE page = 0;

CREATE TABLE settings (
    name  text PRIMARY KEY,
    value jsonb NOT NULL
);

CREATE TABLE tokens (
    id           uuid PRIMARY KEY,
    public_id    text NOT NULL UNIQUE,
    secret_sha256 bytea NOT NULL,
    name         text NOT NULL UNIQUE,
    scopes       text[] NOT NULL,
    created_at   timestamptz NOT NULL,
    expires_at   timestamptz,
    last_used_at timestamptz,
    revoked_at   timestamptz
);

CREATE TABLE idempotency_keys (
    token_id   uuid NOT NULL REFERENCES tokens,
    key        text NOT NULL,
    digest     bytea NOT NULL,
    status     int,
    answer     bytea,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (token_id, key)
);
CREATE INDEX ON idempotency_keys (created_at);

CREATE TABLE identities (
    id               uuid PRIMARY KEY,
    first_name       text NOT NULL,
    last_name        text NOT NULL,
    email_address    text NOT NULL DEFAULT '',
    type             text NOT NULL DEFAULT 'Employee',
    title            text NOT NULL DEFAULT '',
    company          text NOT NULL DEFAULT '',
    division         text NOT NULL DEFAULT '',
    department       text NOT NULL DEFAULT '',
    office           text NOT NULL DEFAULT '',
    supervisor_id    uuid REFERENCES identities,
    employee_id      text,
    custom_fields    jsonb NOT NULL DEFAULT '{}',
    created_date     timestamptz NOT NULL,
    updated_date     timestamptz NOT NULL,
    first_seen_date  timestamptz NOT NULL,
    inactivated_date timestamptz,
    status           text NOT NULL DEFAULT 'Active',
    -- The keys are computed by sort_key (core/text.py): the order is the same on every server, whatever its locale or
    -- ICU version.
    last_name_key    text COLLATE "C" NOT NULL,
    first_name_key   text COLLATE "C" NOT NULL,
    -- The key has only the beginnings of long names, because an index row can have at most 2,700 bytes.
    list_key         text COLLATE "C" GENERATED ALWAYS AS (left(last_name_key, 300) || chr(1) || left(first_name_key, 300) || chr(1) || id::text) STORED,
    CONSTRAINT type_is_known CHECK (type IN ('Employee', 'Service Account', 'Vendor', 'Shared', 'Mailbox', 'Client', 'Temporary', 'Administrator', 'Auditor', 'Unknown')),
    CONSTRAINT status_is_known CHECK (status IN ('Active', 'Disabled', 'Removed'))
);
CREATE INDEX ON identities (supervisor_id);
CREATE UNIQUE INDEX ON identities (employee_id);
CREATE INDEX ON identities (lower(email_address)) WHERE email_address <> '';
CREATE UNIQUE INDEX identities_listed_ ON identities (list_key);
