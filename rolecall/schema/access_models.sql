-- The members of access models: triggers update access_model_members in the transaction that changes an identity. When a model is committed,
-- access_models/actions.py writes its members.
--
-- INSERT or UPDATE of identities fires `refresh_members_on_…`. DELETE of members fires `keep_past`, which stores former members.

-- Return the grants in a definition's `access` as rows.
CREATE OR REPLACE FUNCTION access_model_grants_in(access jsonb)
RETURNS TABLE (application_id uuid, is_group boolean, header text, section text, permission text, access text)
IMMUTABLE LANGUAGE sql BEGIN ATOMIC
    SELECT (entry ->> 'applicationId')::uuid, true, '', '', name, 'Grant'
    FROM jsonb_array_elements(access) AS entry, jsonb_array_elements_text(entry -> 'groups') AS name
    UNION ALL
    SELECT (entry ->> 'applicationId')::uuid, false, p ->> 'header', p ->> 'section', p ->> 'permission', p ->> 'access'
    FROM jsonb_array_elements(access) AS entry, jsonb_array_elements(entry -> 'permissions') AS p;
END;

-- Convert conditions to an SQL test on a row of access_model_people. Conditions are in groups, and the row must meet all conditions of at
-- least one group; without conditions no identity matches.
CREATE OR REPLACE FUNCTION access_model_test(conditions jsonb) RETURNS text IMMUTABLE LANGUAGE sql BEGIN ATOMIC
    SELECT coalesce('(' || string_agg(test, ' OR ') || ')', 'false') FROM (
        SELECT '(' || string_agg(
            CASE c ->> 'operator'
                WHEN 'is' THEN format('p.%I = %L', c ->> 'field', lower(c ->> 'value'))
                WHEN 'is not' THEN format('p.%I <> %L', c ->> 'field', lower(c ->> 'value'))
                WHEN 'is one of' THEN format('p.%I = ANY (%L::text[])', c ->> 'field',
                                             ARRAY(SELECT lower(v) FROM jsonb_array_elements_text(c -> 'value') AS v))
                WHEN 'starts with' THEN format('starts_with(p.%I, %L)', c ->> 'field', lower(c ->> 'value'))
            END, ' AND ') || ')' AS test
        FROM jsonb_array_elements(conditions) WITH ORDINALITY AS g (members, n), jsonb_array_elements(g.members) AS c
        GROUP BY g.n
    ) AS tests;
END;

-- Return SQL for the active identities of `source`, with the values of all fields (`Field` in access_models/model.py) in lower case.
CREATE OR REPLACE FUNCTION access_model_people(source text) RETURNS text IMMUTABLE LANGUAGE sql RETURN format(
    'SELECT id, lower(type) AS type, lower(title) AS title, lower(company) AS company, lower(division) AS division,
            lower(department) AS department, lower(office) AS office, %s
     FROM %s WHERE status = ''Active'' OFFSET 0',
    (SELECT string_agg(format('lower(coalesce(custom_fields ->> %L, '''')) AS "customField%s"', n::text, n), ', ')
     FROM generate_series(1, 9) AS n), source);

-- Return SQL that selects each active identity of `source` with each model in effect that it matches, in one pass over the identities.
CREATE OR REPLACE FUNCTION access_model_matches(source text) RETURNS text STABLE LANGUAGE sql RETURN format(
    'SELECT m.model_id, p.id AS identity_id FROM (%s) AS p, unnest(ARRAY[%s]::uuid[]) AS m (model_id) WHERE m.model_id IS NOT NULL',
    access_model_people(source),
    (SELECT string_agg(format('CASE WHEN %s THEN %L::uuid END', access_model_test(definition -> 'conditions'), id), ', ')
     FROM access_models WHERE is_in_effect));

-- Writers of identities take this lock in shared mode and the commit of a model in exclusive mode, so that neither misses what the other writes.
CREATE OR REPLACE FUNCTION access_model_lock() RETURNS int IMMUTABLE LANGUAGE sql RETURN hashtext('access models');

-- Update the members of all models for the identities that were written.
CREATE OR REPLACE FUNCTION refresh_access_model_members() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    stale_models uuid[];
    stale_people uuid[];
    fresh_models uuid[];
    fresh_people uuid[];
    moment timestamptz := written_on();
BEGIN
    PERFORM pg_advisory_xact_lock_shared(access_model_lock());
    IF NOT EXISTS (SELECT FROM access_models WHERE is_in_effect) THEN
        RETURN NULL;
    END IF;
    EXECUTE format($sql$
        WITH matching AS MATERIALIZED (%s), present AS MATERIALIZED (
            SELECT m.model_id, m.identity_id FROM access_model_members m JOIN new_rows n ON n.id = m.identity_id
        ), stale AS (TABLE present EXCEPT TABLE matching), fresh AS (TABLE matching EXCEPT TABLE present)
        SELECT * FROM (SELECT array_agg(model_id), array_agg(identity_id) FROM stale) AS s,
                      (SELECT array_agg(model_id), array_agg(identity_id) FROM fresh) AS f
    $sql$, access_model_matches('new_rows')) INTO stale_models, stale_people, fresh_models, fresh_people;
    -- Use one statement for each kind of change (docs/lists.md explains why).
    IF TG_OP = 'UPDATE' THEN
        DELETE FROM access_model_members m USING unnest(stale_models, stale_people) AS s (model_id, identity_id)
        WHERE m.model_id = s.model_id AND m.identity_id = s.identity_id;
        -- Use EXECUTE, so that the statement is planned each time: the best plan for one identity is not the best for thousands.
        EXECUTE 'UPDATE access_model_members m SET list_key = n.list_key
                 FROM new_rows n WHERE n.id = m.identity_id AND n.list_key <> m.list_key';
    END IF;
    IF fresh_models IS NOT NULL THEN
        INSERT INTO access_model_members (model_id, identity_id, since, list_key)
        SELECT f.model_id, i.id, moment, i.list_key
        FROM unnest(fresh_models, fresh_people) AS f (model_id, identity_id) JOIN identities i ON i.id = f.identity_id
        ON CONFLICT DO NOTHING;
    END IF;
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER refresh_members_on_insert AFTER INSERT ON identities REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION refresh_access_model_members();
CREATE OR REPLACE TRIGGER refresh_members_on_update AFTER UPDATE ON identities REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION refresh_access_model_members();

-- Store former members of a model with the period in which they were members: docs/decisions/0090.
CREATE OR REPLACE FUNCTION keep_past_model_members() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    moment timestamptz := written_on();
BEGIN
    INSERT INTO past_model_members AS p (identity_id, model_id, since, until)
    SELECT identity_id, model_id, since, moment FROM old_rows WHERE since < moment
    ON CONFLICT (identity_id, model_id, since) DO UPDATE SET until = greatest(p.until, EXCLUDED.until);
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER keep_past AFTER DELETE ON access_model_members REFERENCING OLD TABLE AS old_rows
    FOR EACH STATEMENT EXECUTE FUNCTION keep_past_model_members();

-- Return the active identities that match these conditions.
CREATE OR REPLACE FUNCTION identities_matching(conditions jsonb) RETURNS TABLE (id uuid) STABLE LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY EXECUTE format('SELECT p.id FROM (%s) AS p WHERE %s', access_model_people('identities'), access_model_test(conditions));
END $$;

-- Return the models in effect that an identity with these values would match. The values need not be stored.
CREATE OR REPLACE FUNCTION access_models_matching(identity identities) RETURNS TABLE (model_id uuid) STABLE LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY EXECUTE format('SELECT m.model_id FROM (%s) AS m', access_model_matches('(SELECT ($1).*) AS one')) USING identity;
END $$;

-- The privileges that models grant. The header of a membership comes from group_header.
CREATE OR REPLACE VIEW access_model_privileges AS
    SELECT g.model_id, g.application_id, group_header(v.nomenclature) AS header, g.section, g.permission,
           g.access, coalesce(v.description, '') AS description, privilege_risk(NULL, o.number) AS risk_rating
    FROM access_model_grants g
    LEFT JOIN groups o ON o.application_id = g.application_id AND o.name = g.permission
    LEFT JOIN group_versions v ON v.group_number = o.number AND v.until_import IS NULL
    WHERE g.is_group
    UNION ALL
    SELECT g.model_id, g.application_id, g.header, g.section, g.permission, g.access, coalesce(v.description, ''),
           privilege_risk(o.number, NULL)
    FROM access_model_grants g
    LEFT JOIN permissions o ON o.application_id = g.application_id AND o.header = g.header AND o.section = g.section
                               AND o.permission = g.permission
    LEFT JOIN permission_versions v ON v.permission_number = o.number AND v.until_import IS NULL
    WHERE NOT g.is_group;

CALL keep_list('access_model_members', 'model_id');
CALL keep_audit('access_models', '''Access Model''', 'r.id', $$to_jsonb(r) - '{id,name_key,changed_at,name}'::text[]$$);
