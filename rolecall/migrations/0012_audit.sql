-- The audit chain: docs/decisions/0044 and 0045 explain it, schema/audit.sql fills it.

CREATE TABLE audit_events (
    number    bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    chain     int NOT NULL,
    -- The very text that is hashed, as PostgreSQL writes jsonb: keys in order, shorter ones first. The columns below only repeat it, for filters.
    entry     text NOT NULL,
    previous  bytea NOT NULL,
    hash      bytea NOT NULL,
    action_key text COLLATE "C" NOT NULL GENERATED ALWAYS AS (lower(entry::jsonb ->> 'action')) STORED,
    -- To the microsecond, also where the entry leaves naughts out: as text it sorts as time does.
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

-- The end of each chain: its last entry, and how many it has.
CREATE TABLE audit_heads (
    chain  int PRIMARY KEY,
    number bigint NOT NULL,
    count  bigint NOT NULL,
    hash   bytea NOT NULL
) WITH (fillfactor = 20);

-- A row while a transaction has notes: its deferred trigger is what runs at the end. Never seen by anyone else.
CREATE UNLOGGED TABLE audit_pending (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY
);
