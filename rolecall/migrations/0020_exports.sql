-- Create the table of exports: who exported which list when and with which filters, and the digest of what was sent
-- (docs/decisions/0111).

CREATE TABLE exports (
    id           uuid PRIMARY KEY,
    number       bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    list         text NOT NULL,
    filters      jsonb NOT NULL,
    columns      text[] NOT NULL,
    format       text NOT NULL,
    status       text NOT NULL,
    caller_id    uuid NOT NULL,
    caller_kind  text NOT NULL,
    caller_name  text NOT NULL,
    reason       text,
    started_on   timestamptz NOT NULL,
    finished_on  timestamptz,
    row_count    bigint,
    byte_count   bigint,
    sha256       bytea,
    list_key     text COLLATE "C" NOT NULL GENERATED ALWAYS AS (time_key(started_on, number)) STORED,
    CONSTRAINT format_is_known CHECK (format IN ('csv', 'xlsx', 'jsonl', 'parquet')),
    CONSTRAINT status_is_known CHECK (status IN ('Running', 'Finished', 'Failed', 'Abandoned')),
    CONSTRAINT finished_is_whole CHECK (status <> 'Finished' OR sha256 IS NOT NULL AND row_count IS NOT NULL AND byte_count IS NOT NULL)
);
CREATE UNIQUE INDEX exports_listed_ ON exports (list_key);
CREATE INDEX ON exports (caller_id, list_key);
CREATE INDEX exports_running ON exports (started_on) WHERE status = 'Running';
