-- Create the tables of access models. `definition` is the model as it was last committed, null before the first commit.
-- `draft` is the model with changes that are not committed yet.
CREATE TABLE access_models (
    id           uuid PRIMARY KEY,
    version      int NOT NULL DEFAULT 0,
    definition   jsonb,
    draft        jsonb,
    name_key     text COLLATE "C" NOT NULL,
    created_at   timestamptz NOT NULL,
    changed_at   timestamptz NOT NULL,
    name         text NOT NULL GENERATED ALWAYS AS (coalesce(definition, draft) ->> 'name') STORED,
    is_in_effect boolean NOT NULL GENERATED ALWAYS AS (coalesce((definition ->> 'enabled')::boolean, false)) STORED
);
CREATE UNIQUE INDEX ON access_models (name);
CREATE INDEX access_models_in_order ON access_models (name_key, id);

CREATE TABLE access_model_versions (
    model_id     uuid NOT NULL REFERENCES access_models,
    version      int NOT NULL,
    definition   jsonb NOT NULL,
    committed_at timestamptz NOT NULL,
    caller_id    uuid NOT NULL,
    caller_name  text NOT NULL,
    PRIMARY KEY (model_id, version)
);

-- The access that the committed definitions give, to find the models that give a permission or a group.
CREATE TABLE access_model_grants (
    model_id       uuid NOT NULL REFERENCES access_models,
    application_id uuid NOT NULL REFERENCES applications,
    is_group       boolean NOT NULL,
    header         text NOT NULL,
    section        text NOT NULL,
    permission     text NOT NULL,
    access         text NOT NULL,
    PRIMARY KEY (model_id, application_id, is_group, header, section, permission)
);
CREATE INDEX ON access_model_grants (application_id, permission);

-- The identities that match each committed and enabled model, updated in each transaction that changes an identity or a
-- model. There are no foreign keys, because identities and models are never deleted, and a commit may write a row for
-- every identity.
CREATE TABLE access_model_members (
    model_id    uuid NOT NULL,
    identity_id uuid NOT NULL,
    since       timestamptz NOT NULL,
    -- The key of the identity in the list of all identities.
    list_key    text COLLATE "C" NOT NULL,
    PRIMARY KEY (model_id, identity_id)
);
CREATE INDEX ON access_model_members (identity_id);
-- There is no index on list_key alone, because the members of all models together are never listed.
CREATE INDEX access_model_members_listed_model_id ON access_model_members (model_id, list_key);
