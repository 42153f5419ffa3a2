-- Connectors that people saved for further applications; those that ship with the service are files.
CREATE TABLE connector_templates (
    id           uuid PRIMARY KEY,
    name         text NOT NULL,
    vendor       text NOT NULL,
    description  text NOT NULL,
    -- File groups as in the API.
    files        jsonb NOT NULL,
    created_by   text NOT NULL,
    created_date timestamptz NOT NULL
);
CREATE UNIQUE INDEX connector_templates_by_name ON connector_templates (lower(name));
