-- Create the table of connector templates that people saved for other applications; those of the service are files.
CREATE TABLE connector_templates (
    id           uuid PRIMARY KEY,
    name         text NOT NULL,
    vendor       text NOT NULL,
    description  text NOT NULL,
    -- The file groups as in the API.
    files        jsonb NOT NULL,
    created_by   text NOT NULL,
    created_date timestamptz NOT NULL
);
CREATE UNIQUE INDEX connector_templates_by_name ON connector_templates (lower(name));
