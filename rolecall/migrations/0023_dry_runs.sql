-- Create the tables of dry runs and previews. A preview is the change list of a build that was rolled back; its id is
-- that of the held import or of the dry run.
CREATE TABLE previews (
    id     uuid PRIMARY KEY,
    -- The numbers of changes of each kind.
    counts jsonb NOT NULL
);

CREATE TABLE previewed_changes (
    preview_id uuid NOT NULL REFERENCES previews ON DELETE CASCADE,
    position   bigint NOT NULL,
    kind       text NOT NULL,
    change     text NOT NULL,
    name       text NOT NULL,
    row        json NOT NULL,
    -- For an altered row: the row before the change; `row` is the row after it.
    other      json,
    PRIMARY KEY (preview_id, position)
);

-- Files, and the configuration to try them with. They do not take effect, and are deleted after a day.
CREATE TABLE dry_runs (
    id             uuid PRIMARY KEY,
    -- Null if the application does not exist yet.
    application_id uuid REFERENCES applications,
    -- The request body that would create or change the application; an empty body leaves the application as it is.
    draft          jsonb NOT NULL,
    -- How the files could be read, as found in the files themselves.
    proposal       jsonb,
    status         text NOT NULL,
    created_by     text NOT NULL,
    created_at     timestamptz NOT NULL,
    caller_id      uuid NOT NULL,
    started_at     timestamptz,
    ended_at       timestamptz,
    attempts       int NOT NULL DEFAULT 0,
    log            text[] NOT NULL DEFAULT '{}',
    failure        text,
    result         jsonb,
    CONSTRAINT dry_run_status_is_known CHECK (status IN ('Draft', 'Pending', 'Running', 'Finished', 'Failed'))
);
CREATE INDEX dry_runs_by_age ON dry_runs (created_at);
CREATE INDEX dry_runs_at_work ON dry_runs (created_at) WHERE status IN ('Pending', 'Running');

CREATE TABLE dry_run_files (
    id         uuid PRIMARY KEY,
    dry_run_id uuid NOT NULL REFERENCES dry_runs ON DELETE CASCADE,
    position   int NOT NULL,
    -- The name of the file group, which may exist in the draft only.
    file_group text NOT NULL,
    name       text NOT NULL,
    sha256     bytea NOT NULL,
    size       bigint NOT NULL,
    location   text NOT NULL,
    UNIQUE (dry_run_id, position)
);
CREATE INDEX ON dry_run_files (location);

CREATE TABLE dry_run_rejects (
    dry_run_id uuid NOT NULL REFERENCES dry_runs ON DELETE CASCADE,
    file_id    uuid NOT NULL,
    line       int NOT NULL,
    reason     text NOT NULL,
    row        json NOT NULL,
    PRIMARY KEY (dry_run_id, file_id, line)
);
