-- Create the list of entitlements: one row for every group and permission that an import has shown. It has the id that
-- the group or permission has had since its first import.

-- What people have set for an entitlement; imports do not change it. An entitlement has a row only if a person has set
-- something, so that all changes of this table can be audited.
CREATE TABLE curations (
    entitlement_id uuid PRIMARY KEY,
    display_name   text NOT NULL DEFAULT '',
    explanation    text NOT NULL DEFAULT '',
    owner_id       uuid REFERENCES identities,
    -- The rating that overrides the imported one.
    risk_rating    text,
    is_privileged  boolean NOT NULL DEFAULT false,
    tags           text[] NOT NULL DEFAULT '{}',
    -- The entitlement that this one was before it was renamed.
    same_as        uuid,
    changed_on     timestamptz NOT NULL,
    CONSTRAINT risk_rating_is_known CHECK (risk_rating IN ('None', 'Low', 'Moderate', 'High', 'Critical')),
    CONSTRAINT same_as_another CHECK (same_as <> entitlement_id)
);
CREATE INDEX ON curations (same_as) WHERE same_as IS NOT NULL;
CREATE INDEX ON curations (changed_on);

-- The list of entitlements: what imports show now, or showed last, combined with what people have set.
-- refresh_entitlements (schema/entitlements.sql) updates it.
CREATE TABLE entitlements (
    id             uuid PRIMARY KEY,
    kind           text NOT NULL,
    -- The number of the group or permission.
    number         int NOT NULL,
    application_id uuid NOT NULL,
    header         text NOT NULL,
    section        text NOT NULL,
    name           text NOT NULL,
    description    text NOT NULL,
    is_present     boolean NOT NULL,
    first_import   int NOT NULL,
    -- The import that no longer showed the entitlement; null while the entitlement is present.
    gone_import    int,
    risk_rating    text NOT NULL,
    display_name   text NOT NULL DEFAULT '',
    is_privileged  boolean NOT NULL DEFAULT false,
    owner_id       uuid,
    tags           text[] NOT NULL DEFAULT '{}',
    -- The key among all entitlements; `list_key` is null for those that are not present.
    name_key       text COLLATE "C" NOT NULL GENERATED ALWAYS AS (
        left(username_key(coalesce(nullif(display_name, ''), nullif(name, ''), section)), 200) || chr(1) || id::text) STORED,
    list_key       text COLLATE "C" GENERATED ALWAYS AS (
        CASE WHEN is_present THEN left(username_key(coalesce(nullif(display_name, ''), nullif(name, ''), section)), 200) || chr(1) || id::text END) STORED,
    UNIQUE (kind, number),
    CONSTRAINT kind_is_known CHECK (kind IN ('Group', 'Permission')),
    CONSTRAINT risk_rating_is_known CHECK (risk_rating IN ('None', 'Low', 'Moderate', 'High', 'Critical'))
);
CREATE UNIQUE INDEX entitlements_listed_ ON entitlements (list_key);
CREATE INDEX entitlements_listed_application_id ON entitlements (application_id, list_key);
CREATE INDEX entitlements_listed_kind ON entitlements (kind, list_key);
CREATE INDEX entitlements_listed_risk_rating ON entitlements (risk_rating, list_key);
CREATE INDEX entitlements_listed_application_id_kind ON entitlements (application_id, kind, list_key);
CREATE INDEX entitlements_listed_application_id_risk_rating ON entitlements (application_id, risk_rating, list_key);
CREATE INDEX entitlements_listed_kind_risk_rating ON entitlements (kind, risk_rating, list_key);
CREATE INDEX entitlements_listed_application_id_kind_risk_rating ON entitlements (application_id, kind, risk_rating, list_key);
CREATE UNIQUE INDEX entitlements_by_name ON entitlements (name_key);
CREATE INDEX ON entitlements (is_privileged, list_key) WHERE is_privileged;
CREATE INDEX ON entitlements (owner_id, list_key) WHERE owner_id IS NOT NULL;
CREATE INDEX ON entitlements USING gin (tags) WHERE tags <> '{}';

-- The numbers of accounts and identities that hold an entitlement, directly or through groups. The first reader after
-- an import or a matching counts them.
CREATE TABLE holder_counts (
    entitlement_id uuid PRIMARY KEY,
    import_number  int NOT NULL,
    matching       bigint NOT NULL,
    accounts       int NOT NULL,
    identities     int NOT NULL
);

-- These indexes find the holders of a permission, and the groups that name a group as their parent.
CREATE INDEX assignments_by_permission ON assignments (permission_number);
CREATE INDEX group_versions_by_parent ON group_versions (in_any_case(parent)) WHERE parent <> '';

INSERT INTO entitlements (id, kind, number, application_id, header, section, name, description, is_present, first_import, gone_import, risk_rating)
SELECT p.id, 'Permission', p.number, p.application_id, p.header, p.section, p.permission, last.description, last.until_import IS NULL,
       (SELECT min(v.from_import) FROM permission_versions v WHERE v.permission_number = p.number), last.until_import, last.risk_rating
FROM permissions p CROSS JOIN LATERAL (
    SELECT * FROM permission_versions v WHERE v.permission_number = p.number ORDER BY v.from_import DESC LIMIT 1) AS last;
-- The rating of a group follows from its permissions; schema/entitlements.sql computes it when that file is first
-- applied.
INSERT INTO entitlements (id, kind, number, application_id, header, section, name, description, is_present, first_import, gone_import, risk_rating)
SELECT g.id, 'Group', g.number, g.application_id, coalesce(nullif(last.nomenclature, ''), 'Group'), '', g.name, last.description,
       last.until_import IS NULL, (SELECT min(v.from_import) FROM group_versions v WHERE v.group_number = g.number), last.until_import, 'None'
FROM groups g CROSS JOIN LATERAL (
    SELECT * FROM group_versions v WHERE v.group_number = g.number ORDER BY v.from_import DESC LIMIT 1) AS last;
