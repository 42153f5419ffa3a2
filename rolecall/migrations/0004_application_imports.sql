-- Create the tables of imports, their files and their logs.
CREATE TABLE application_imports (
    id             uuid PRIMARY KEY,
    number         bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    application_id uuid NOT NULL REFERENCES applications,
    type           text NOT NULL,
    status         text NOT NULL DEFAULT 'Pending',
    created_by     text NOT NULL,
    created_at     timestamptz NOT NULL,
    build_start    timestamptz,
    build_end      timestamptz,
    metrics        jsonb,
    list_key       text COLLATE "C" GENERATED ALWAYS AS (time_key(build_start, number)) STORED,
    CONSTRAINT type_is_known CHECK (type IN ('Scheduled', 'Manual', 'API')),
    CONSTRAINT status_is_known CHECK (status IN ('Pending', 'Running', 'Finished', 'Failed', 'Canceled', 'Canceling')),
    CONSTRAINT ended_imports_have_an_end CHECK ((build_end IS NOT NULL) = (status IN ('Finished', 'Failed', 'Canceled'))),
    CONSTRAINT finished_imports_have_metrics CHECK ((metrics IS NOT NULL) = (status = 'Finished'))
);
CREATE INDEX application_imports_by_number ON application_imports (application_id, number);
CREATE INDEX application_imports_finished ON application_imports (application_id, number) WHERE status = 'Finished';
CREATE INDEX application_imports_at_work ON application_imports (status, number) WHERE status IN ('Pending', 'Running', 'Canceling');
CREATE UNIQUE INDEX application_imports_listed_ ON application_imports (list_key);
CREATE INDEX application_imports_listed_application_id ON application_imports (application_id, list_key);

-- The id and the name of the file group are copied, because the connector may change later.
CREATE TABLE import_files (
    id            uuid PRIMARY KEY,
    import_id     uuid NOT NULL REFERENCES application_imports,
    position      int NOT NULL,
    file_group_id uuid NOT NULL,
    file_group    text NOT NULL,
    name          text NOT NULL,
    sha256        bytea NOT NULL,
    size          bigint NOT NULL,
    location      text NOT NULL UNIQUE,
    UNIQUE (import_id, position)
);

-- The log is a table of lines and not a column of the import, because a run writes lines outside the transaction that
-- locks its import.
CREATE TABLE import_log (
    number    bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    import_id uuid NOT NULL REFERENCES application_imports,
    line      text NOT NULL
);
CREATE INDEX ON import_log (import_id, number);
