-- Create the tables of reports, which are saved exports of lists with an optional schedule. A run of a report is an
-- export (docs/reports.md).

CREATE TABLE reports (
    id           uuid PRIMARY KEY,
    name         text NOT NULL,
    description  text NOT NULL DEFAULT '',
    list         text NOT NULL,
    filters      jsonb NOT NULL DEFAULT '{}',
    -- The columns to export; empty for all columns of the list.
    columns      text[] NOT NULL DEFAULT '{}',
    period       text NOT NULL DEFAULT 'Now',
    format       text NOT NULL DEFAULT 'csv',
    cron         text,
    location     text,
    owner_id     uuid REFERENCES identities,
    created_date timestamptz NOT NULL,
    deleted_on   timestamptz,
    CONSTRAINT format_is_known CHECK (format IN ('csv', 'xlsx', 'jsonl', 'parquet')),
    CONSTRAINT period_is_known CHECK (period IN ('Now', 'Yesterday', 'Last Week', 'Last Month', 'Last Quarter', 'Last Year')),
    CONSTRAINT schedule_is_whole CHECK ((cron IS NULL) = (location IS NULL))
);
CREATE UNIQUE INDEX reports_by_name ON reports (lower(name)) WHERE deleted_on IS NULL;
CREATE INDEX ON reports (owner_id) WHERE owner_id IS NOT NULL;

-- When the schedule of a report last fired, and the export that it started, if this one has not finished yet.
CREATE TABLE report_firings (
    report_id uuid PRIMARY KEY REFERENCES reports,
    fired_at  timestamptz NOT NULL,
    run_id    uuid REFERENCES exports,
    attempts  int NOT NULL DEFAULT 0
);
CREATE INDEX ON report_firings (run_id) WHERE run_id IS NOT NULL;

ALTER TABLE exports ADD report_id uuid, ADD location text;
CREATE INDEX ON exports (report_id, list_key);
