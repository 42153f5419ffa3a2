-- Create the tables of the SCIM server: the users and groups that an identity provider pushes to an application, as
-- they were pushed.
CREATE TABLE scim_pushes (
    application_id uuid PRIMARY KEY REFERENCES applications,
    began_at       timestamptz NOT NULL,
    changed_at     timestamptz,
    -- The time of the first change that no import has read yet.
    waiting_since  timestamptz
);

CREATE TABLE scim_tokens (
    id             uuid PRIMARY KEY,
    application_id uuid NOT NULL REFERENCES applications,
    public_id      text NOT NULL UNIQUE,
    secret_sha256  bytea NOT NULL,
    name           text NOT NULL,
    created_at     timestamptz NOT NULL,
    expires_at     timestamptz,
    last_used_at   timestamptz,
    revoked_at     timestamptz,
    UNIQUE (application_id, name)
);

CREATE TABLE scim_resources (
    id             uuid PRIMARY KEY,
    -- Lists are ordered by this number.
    number         bigint GENERATED ALWAYS AS IDENTITY,
    application_id uuid NOT NULL REFERENCES applications,
    kind           text NOT NULL CHECK (kind IN ('User', 'Group')),
    name_key       text NOT NULL,
    resource       jsonb NOT NULL,
    external_id    text GENERATED ALWAYS AS (resource ->> 'externalId') STORED,
    version        bigint NOT NULL DEFAULT 1,
    created_at     timestamptz NOT NULL,
    changed_at     timestamptz NOT NULL,
    UNIQUE (application_id, kind, name_key)
);
CREATE INDEX scim_resources_by_number ON scim_resources (application_id, kind, number);
CREATE INDEX scim_resources_by_external_id ON scim_resources (application_id, external_id) WHERE external_id IS NOT NULL;

CREATE TABLE scim_members (
    group_id  uuid NOT NULL REFERENCES scim_resources ON DELETE CASCADE,
    member_id uuid NOT NULL REFERENCES scim_resources ON DELETE CASCADE,
    -- The name that was sent with the member.
    display   text NOT NULL,
    PRIMARY KEY (group_id, member_id)
);
CREATE INDEX scim_members_by_member ON scim_members (member_id);
