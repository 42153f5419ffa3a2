-- Create the tables of applications, their connectors, their file groups and the schedules of their imports.
CREATE TABLE applications (
    id                 uuid PRIMARY KEY,
    name               text NOT NULL UNIQUE,
    name_key           text COLLATE "C" NOT NULL,
    priority           text NOT NULL DEFAULT 'None',
    is_archived        boolean NOT NULL DEFAULT false,
    is_identity_source boolean NOT NULL DEFAULT false,
    last_updated       timestamptz NOT NULL,
    owner_id           uuid REFERENCES identities,
    provisioner_ids    uuid[] NOT NULL DEFAULT '{}',
    -- The limits of the import guard; null if the limits in the settings apply.
    guard              jsonb,
    list_key           text COLLATE "C" GENERATED ALWAYS AS (left(name_key, 300) || chr(1) || id::text) STORED,
    CONSTRAINT priority_is_known CHECK (priority IN ('None', 'Low', 'Moderate', 'High', 'Critical'))
);
CREATE UNIQUE INDEX applications_listed_ ON applications (list_key);

CREATE TABLE connectors (
    id             uuid PRIMARY KEY,
    application_id uuid NOT NULL UNIQUE REFERENCES applications,
    name           text NOT NULL,
    vendor         text NOT NULL,
    is_file_based  boolean NOT NULL
);

CREATE TABLE file_groups (
    id            uuid PRIMARY KEY,
    connector_id  uuid NOT NULL REFERENCES connectors ON DELETE CASCADE,
    position      int NOT NULL,
    name          text NOT NULL,
    is_optional   boolean NOT NULL,
    is_multiple   boolean NOT NULL,
    content       text NOT NULL,
    columns       jsonb NOT NULL,
    encoding      text,
    allow_rejects boolean NOT NULL,
    UNIQUE (connector_id, name),
    CONSTRAINT content_is_known CHECK (content IN ('users', 'groups', 'memberships', 'permissions', 'identities'))
);

-- When, and from where, the files of an application are fetched. The keys of `locations` are the names of file groups.
CREATE TABLE schedules (
    application_id uuid PRIMARY KEY REFERENCES applications,
    cron           text NOT NULL,
    locations      jsonb NOT NULL
);
