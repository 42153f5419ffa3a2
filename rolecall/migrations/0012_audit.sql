-- Create the tables of the audit chains. docs/decisions/0044 and 0045 explain the chains, and schema/audit.sql writes
-- them.

CREATE TABLE audit_events (
    number    bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    chain     int NOT NULL,
    -- The exact text that is hashed, as PostgreSQL writes jsonb: keys sorted by length, then by bytes. The columns
    -- below repeat parts of it for filters.
    entry     text NOT NULL,
    previous  bytea NOT NULL,
    hash      bytea NOT NULL,
    action_key text COLLATE "C" NOT NULL GENERATED ALWAYS AS (lower(entry::jsonb ->> 'action')) STORED,
    -- The time has microseconds even if the entry omits trailing zeros, so that the text sorts by time.
    created_key text COLLATE "C" NOT NULL GENERATED ALWAYS AS (left(rtrim(entry::jsonb ->> 'createdDate', 'Z') || '.000000', 26)) STORED,
    caller_id uuid GENERATED ALWAYS AS ((entry::jsonb #>> '{caller,id}')::uuid) STORED,
    entity_id uuid NOT NULL GENERATED ALWAYS AS ((entry::jsonb #>> '{entity,id}')::uuid) STORED,
    list_key  text COLLATE "C" GENERATED ALWAYS AS (lpad(number::text, 18, '0')) STORED
);
CREATE INDEX ON audit_events (entity_id, list_key);
CREATE INDEX ON audit_events (caller_id, list_key);
CREATE INDEX ON audit_events (action_key, list_key);
CREATE INDEX ON audit_events (created_key, number);
CREATE UNIQUE INDEX audit_events_listed_ ON audit_events (list_key);

-- The head of each chain: the number and the hash of its last entry, and the number of its entries.
CREATE TABLE audit_heads (
    chain  int PRIMARY KEY,
    number bigint NOT NULL,
    count  bigint NOT NULL,
    hash   bytea NOT NULL
) WITH (fillfactor = 20);

-- A row exists while a transaction has notes; at COMMIT, its deferred trigger writes them to a chain. No other
-- transaction sees the row.
CREATE UNLOGGED TABLE audit_pending (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY
);
