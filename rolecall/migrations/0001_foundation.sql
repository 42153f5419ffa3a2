-- Lists with exact totals at a flat cost: docs/lists.md explains these tables, schema/core.sql has their functions.
--
-- Which tables are kept as lists, and by which columns each can be filtered; written by keep_list.
CREATE TABLE lists (
    name   text PRIMARY KEY,
    facets text[] NOT NULL
);

-- The contents of a list under one filter: how many rows, and which key stands at about every thousandth place
-- (`starts[n]` rows come before `keys[n]`). A facet is a filter: {} for none, {"status": "Open"}, …
CREATE TABLE list_contents (
    list   text NOT NULL,
    facet  jsonb NOT NULL,
    total  bigint NOT NULL,
    keys   text[] COLLATE "C" NOT NULL,
    starts bigint[] NOT NULL,
    PRIMARY KEY (list, facet)
) WITH (fillfactor = 50);
ALTER TABLE list_contents ALTER keys SET STORAGE EXTERNAL, ALTER starts SET STORAGE EXTERNAL;

-- What happened to the list since its contents were written: rows gained (1) and lost (-1). The truth is contents
-- plus changes, in every snapshot. Writers only append here, so they never wait for one another.
CREATE TABLE list_changes (
    number bigint GENERATED ALWAYS AS IDENTITY,
    list   text NOT NULL,
    key    text COLLATE "C" NOT NULL,
    facets jsonb NOT NULL,
    rows   int NOT NULL
);
CREATE INDEX ON list_changes (list);

-- A key that sorts as time and number do; null sorts last. Here, not in schema/core.sql: generated columns store its results, so a
-- change of it must rewrite their tables.
CREATE FUNCTION time_key(moment timestamptz, number bigint) RETURNS text IMMUTABLE LANGUAGE sql RETURN
    coalesce(lpad((extract(epoch FROM moment AT TIME ZONE 'UTC' - timestamp '0001-01-01') * 1000000)::bigint::text, 18, '0'), repeat('9', 18))
    || lpad(number::text, 12, '0');

-- Where the pages of a list begin that never changes again, such as an application's accounts after one import: found by
-- its first reader, forgotten after a week. Page 0 has the total alone.
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
    -- Made by core/text.sort_key: one order on every server, whatever its locale or ICU version.
    last_name_key    text COLLATE "C" NOT NULL,
    first_name_key   text COLLATE "C" NOT NULL,
    -- An index row holds 2,700 bytes: of a longer key only the beginning sorts.
    list_key         text COLLATE "C" GENERATED ALWAYS AS (left(last_name_key, 300) || chr(1) || left(first_name_key, 300) || chr(1) || id::text) STORED,
    CONSTRAINT type_is_known CHECK (type IN ('Employee', 'Service Account', 'Vendor', 'Shared', 'Mailbox', 'Client', 'Temporary', 'Administrator', 'Auditor', 'Unknown')),
    CONSTRAINT status_is_known CHECK (status IN ('Active', 'Disabled', 'Removed'))
);
CREATE INDEX ON identities (supervisor_id);
CREATE UNIQUE INDEX ON identities (employee_id);
CREATE INDEX ON identities (lower(email_address)) WHERE email_address <> '';
CREATE UNIQUE INDEX identities_listed_ ON identities (list_key);
