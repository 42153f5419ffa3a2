-- Create the tables of live sources, from which the records of applications are fetched. `definition` is the
-- configuration.
CREATE TABLE sources (
    application_id uuid PRIMARY KEY REFERENCES applications,
    definition     jsonb NOT NULL,
    changed_on     timestamptz NOT NULL
);

-- The secrets that were sent to the service, encrypted. Each is bound to the host that it may be sent to.
CREATE TABLE source_secrets (
    application_id uuid NOT NULL REFERENCES applications,
    name           text NOT NULL,
    host           text NOT NULL,
    sealed         bytea NOT NULL,
    set_on         timestamptz NOT NULL,
    PRIMARY KEY (application_id, name)
);
