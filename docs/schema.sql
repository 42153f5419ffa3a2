-- The schema of the database as `rolecall migrate --schema` prints it: what migrations and schema files make together.
-- To change it, add a migration or edit rolecall/schema, then run `make schema`.

CREATE TYPE public.access AS ENUM (
    'None',
    'Unrestricted',
    'Grant',
    'Deny',
    'Modify'
);

CREATE FUNCTION public.access_in_order() RETURNS text[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN ARRAY['None'::text, 'Deny'::text, 'Grant'::text, 'Modify'::text, 'Unrestricted'::text];

CREATE FUNCTION public.access_model_grants_in(access jsonb) RETURNS TABLE(application_id uuid, is_group boolean, header text, section text, permission text, access text)
    LANGUAGE sql IMMUTABLE
    BEGIN ATOMIC
 SELECT ((entry.value ->> 'applicationId'::text))::uuid AS uuid,
     true,
     ''::text,
     ''::text,
     name.value AS name,
     'Grant'::text
    FROM jsonb_array_elements(access_model_grants_in.access) entry(value),
     LATERAL jsonb_array_elements_text((entry.value -> 'groups'::text)) name(value)
 UNION ALL
  SELECT ((entry.value ->> 'applicationId'::text))::uuid AS uuid,
     false,
     (p.value ->> 'header'::text),
     (p.value ->> 'section'::text),
     (p.value ->> 'permission'::text),
     (p.value ->> 'access'::text)
    FROM jsonb_array_elements(access_model_grants_in.access) entry(value),
     LATERAL jsonb_array_elements((entry.value -> 'permissions'::text)) p(value);
END;

CREATE FUNCTION public.access_model_lock() RETURNS integer
    LANGUAGE sql IMMUTABLE
    RETURN hashtext('access models'::text);

CREATE FUNCTION public.access_model_people(source text) RETURNS text
    LANGUAGE sql IMMUTABLE
    RETURN format('SELECT id, lower(type) AS type, lower(title) AS title, lower(company) AS company, lower(division) AS division,
            lower(department) AS department, lower(office) AS office, %s
     FROM %s WHERE status = ''Active'' OFFSET 0'::text, (SELECT string_agg(format('lower(coalesce(custom_fields ->> %L, '''')) AS "customField%s"'::text, (n.n)::text, n.n), ', '::text) AS string_agg FROM generate_series(1, 9) n(n)), source);

CREATE FUNCTION public.access_model_test(conditions jsonb) RETURNS text
    LANGUAGE sql IMMUTABLE
    BEGIN ATOMIC
 SELECT COALESCE((('('::text || string_agg(tests.test, ' OR '::text)) || ')'::text), 'false'::text) AS "coalesce"
    FROM ( SELECT (('('::text || string_agg(
                 CASE (c.value ->> 'operator'::text)
                     WHEN 'is'::text THEN format('p.%I = %L'::text, (c.value ->> 'field'::text), lower((c.value ->> 'value'::text)))
                     WHEN 'is not'::text THEN format('p.%I <> %L'::text, (c.value ->> 'field'::text), lower((c.value ->> 'value'::text)))
                     WHEN 'is one of'::text THEN format('p.%I = ANY (%L::text[])'::text, (c.value ->> 'field'::text), ARRAY( SELECT lower(v.value) AS lower
                        FROM jsonb_array_elements_text((c.value -> 'value'::text)) v(value)))
                     WHEN 'starts with'::text THEN format('starts_with(p.%I, %L)'::text, (c.value ->> 'field'::text), lower((c.value ->> 'value'::text)))
                     ELSE NULL::text
                 END, ' AND '::text)) || ')'::text) AS test
            FROM jsonb_array_elements(access_model_test.conditions) WITH ORDINALITY g(members, n),
             LATERAL jsonb_array_elements(g.members) c(value)
           GROUP BY g.n) tests;
END;

CREATE TABLE public.access_models (
    id uuid NOT NULL,
    version integer DEFAULT 0 NOT NULL,
    definition jsonb,
    draft jsonb,
    name_key text NOT NULL COLLATE pg_catalog."C",
    created_at timestamp with time zone NOT NULL,
    changed_at timestamp with time zone NOT NULL,
    name text GENERATED ALWAYS AS ((COALESCE(definition, draft) ->> 'name'::text)) STORED NOT NULL,
    is_in_effect boolean GENERATED ALWAYS AS (COALESCE(((definition ->> 'enabled'::text))::boolean, false)) STORED NOT NULL
);

CREATE FUNCTION public.access_model_matches(source text) RETURNS text
    LANGUAGE sql STABLE
    RETURN format('SELECT m.model_id, p.id AS identity_id FROM (%s) AS p, unnest(ARRAY[%s]::uuid[]) AS m (model_id) WHERE m.model_id IS NOT NULL'::text, public.access_model_people(source), (SELECT string_agg(format('CASE WHEN %s THEN %L::uuid END'::text, public.access_model_test((access_models.definition -> 'conditions'::text)), access_models.id), ', '::text) AS string_agg FROM public.access_models WHERE access_models.is_in_effect));

CREATE TABLE public.identities (
    id uuid NOT NULL,
    first_name text NOT NULL,
    last_name text NOT NULL,
    email_address text DEFAULT ''::text NOT NULL,
    type text DEFAULT 'Employee'::text NOT NULL,
    title text DEFAULT ''::text NOT NULL,
    company text DEFAULT ''::text NOT NULL,
    division text DEFAULT ''::text NOT NULL,
    department text DEFAULT ''::text NOT NULL,
    office text DEFAULT ''::text NOT NULL,
    supervisor_id uuid,
    employee_id text,
    custom_fields jsonb DEFAULT '{}'::jsonb NOT NULL,
    created_date timestamp with time zone NOT NULL,
    updated_date timestamp with time zone NOT NULL,
    first_seen_date timestamp with time zone NOT NULL,
    inactivated_date timestamp with time zone,
    status text DEFAULT 'Active'::text NOT NULL,
    last_name_key text NOT NULL COLLATE pg_catalog."C",
    first_name_key text NOT NULL COLLATE pg_catalog."C",
    list_key text GENERATED ALWAYS AS ((((("left"(last_name_key, 300) || chr(1)) || "left"(first_name_key, 300)) || chr(1)) || (id)::text)) STORED COLLATE pg_catalog."C",
    CONSTRAINT status_is_known CHECK ((status = ANY (ARRAY['Active'::text, 'Disabled'::text, 'Removed'::text]))),
    CONSTRAINT type_is_known CHECK ((type = ANY (ARRAY['Employee'::text, 'Service Account'::text, 'Vendor'::text, 'Shared'::text, 'Mailbox'::text, 'Client'::text, 'Temporary'::text, 'Administrator'::text, 'Auditor'::text, 'Unknown'::text])))
);

CREATE FUNCTION public.access_models_matching(identity public.identities) RETURNS TABLE(model_id uuid)
    LANGUAGE plpgsql STABLE
    AS $_$
BEGIN
    RETURN QUERY EXECUTE format('SELECT m.model_id FROM (%s) AS m', access_model_matches('(SELECT ($1).*) AS one')) USING identity;
END $_$;

CREATE FUNCTION public.access_rank(access text) RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN array_position(public.access_in_order(), access);

CREATE FUNCTION public.administrators_id() RETURNS uuid
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN '00000000-0000-0000-0000-000000000001'::uuid;

CREATE FUNCTION public.audit_chains() RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN 16;

CREATE FUNCTION public.audit_hash(previous bytea, number bigint, entry text) RETURNS bytea
    LANGUAGE sql IMMUTABLE
    RETURN sha256(convert_to(((((encode(previous, 'hex'::text) || ' '::text) || number) || ' '::text) || encode(sha256(convert_to(entry, 'UTF8'::name)), 'hex'::text)), 'UTF8'::name));

CREATE FUNCTION public.author_id() RETURNS uuid
    LANGUAGE sql STABLE
    RETURN (((NULLIF(current_setting('rolecall.author'::text, true), ''::text))::jsonb #>> '{caller,id}'::text[]))::uuid;

CREATE FUNCTION public.awaited_statuses() RETURNS text[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN ARRAY['Pending'::text, 'Open'::text, 'Resolved'::text];

CREATE FUNCTION public.awaited_type(event text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE event WHEN 'Pending'::text THEN 'Approve'::text WHEN 'Open'::text THEN 'Resolve'::text WHEN 'Resolved'::text THEN 'Verify'::text ELSE NULL::text END;

CREATE FUNCTION public.camel(name text) RETURNS text
    LANGUAGE sql IMMUTABLE
    RETURN CASE WHEN (strpos(name, '_'::text) = 0) THEN name ELSE ("left"(name, 1) || substr(replace(initcap(replace(name, '_'::text, ' '::text)), ' '::text, ''::text), 2)) END;

CREATE FUNCTION public.chain_changes() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    DELETE FROM audit_pending WHERE number = NEW.number;
    PERFORM chain_notes();
    RETURN NULL;
END $$;

CREATE FUNCTION public.chain_notes() RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    -- Writes that bypass the program are attributed to the database user.
    author jsonb := coalesce(nullif(current_setting('rolecall.author', true), '')::jsonb - 'bulk', jsonb_build_object(
        'caller', jsonb_build_object('id', NULL, 'kind', 'Database', 'name', session_user), 'action', 'Change', 'correlationId', NULL,
        'createdDate', to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')));
    entries text[] := ARRAY(
        SELECT author || jsonb_build_object(
            'entity', jsonb_build_object('id', c.id, 'kind', c.kind, 'name', name_of(c.kind, c.id)), 'before', c.before, 'after', c.after)
        FROM changes_in(('[' || current_setting('rolecall.notes') || ']')::jsonb) AS c);
    numbers bigint[];
    links bytea[];
    the_chain int;
    head record;
    the_entry text;
    the_number bigint;
    link bytea;
BEGIN
    PERFORM set_config('rolecall.notes', '', true);
    IF cardinality(entries) = 0 THEN
        RETURN;
    END IF;
    -- As late as possible: the chain is locked from here until the transaction ends.
    the_chain := take_chain();
    SELECT h.number, h.hash INTO head FROM audit_heads h WHERE h.chain = the_chain;
    entries := in_order_of_time(entries, head.number);
    link := coalesce(head.hash, decode(repeat('00', 32), 'hex'));
    links := ARRAY[link];
    FOREACH the_entry IN ARRAY entries LOOP
        the_number := nextval('audit_events_number_seq');
        link := audit_hash(link, the_number, the_entry);
        numbers := numbers || the_number;
        links := links || link;
    END LOOP;
    INSERT INTO audit_events (number, chain, entry, previous, hash) OVERRIDING SYSTEM VALUE
    SELECT e.number, the_chain, e.entry, e.previous, e.hash
    FROM unnest(numbers, entries, links[:cardinality(entries)], links[2:]) AS e (number, entry, previous, hash);
    INSERT INTO audit_heads AS h (chain, number, count, hash) VALUES (the_chain, the_number, cardinality(entries), link)
    ON CONFLICT (chain) DO UPDATE SET number = EXCLUDED.number, count = h.count + EXCLUDED.count, hash = EXCLUDED.hash;
END $$;

CREATE FUNCTION public.changes_in(notes jsonb) RETURNS TABLE(kind text, id uuid, before jsonb, after jsonb)
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 WITH noted AS (
          SELECT e.n,
             (e.note ->> 'kind'::text) AS kind,
             (e.note ->> 'id'::text) AS id,
             (e.note ->> 'part'::text) AS part,
             (e.note -> 'was'::text) AS was,
             (e.note -> 'is'::text) AS "is"
            FROM jsonb_array_elements(changes_in.notes) WITH ORDINALITY e(note, n)
         ), parts AS (
          SELECT d.kind,
             d.id,
             d.part,
             min(d.n) AS n,
             (array_agg(d.was ORDER BY d.n))[1] AS was,
             (array_agg(d."is" ORDER BY d.n))[count(*)] AS "is"
            FROM noted d
           GROUP BY d.kind, d.id, d.part
         ), sides AS (
          SELECT p.kind,
             p.id,
             p.part,
             p.n,
             s.is_before,
             jsonb_object_agg(public.camel(f.key), f.value) AS fields
            FROM ((parts p
              CROSS JOIN LATERAL ( VALUES (true,p.was,p."is"), (false,p."is",p.was)) s(is_before, one, other))
              CROSS JOIN LATERAL jsonb_each(s.one) f(key, value))
           WHERE ((f.value <> COALESCE((s.other -> f.key), 'null'::jsonb)) AND ((s.other IS NOT NULL) OR (f.value <> ALL (ARRAY['""'::jsonb, '{}'::jsonb, '[]'::jsonb]))))
           GROUP BY p.kind, p.id, p.part, p.n, s.is_before
         ), whole AS (
          SELECT s.kind,
             s.id,
             s.is_before,
             min(s.n) AS n,
             (COALESCE((array_agg(s.fields) FILTER (WHERE (s.part = ''::text)))[1], '{}'::jsonb) || COALESCE(jsonb_object_agg(s.part, s.fields) FILTER (WHERE (s.part <> ''::text)), '{}'::jsonb)) AS fields
            FROM sides s
           GROUP BY s.kind, s.id, s.is_before
         )
  SELECT w.kind,
     (w.id)::uuid AS id,
     (array_agg(w.fields) FILTER (WHERE w.is_before))[1] AS array_agg,
     (array_agg(w.fields) FILTER (WHERE (NOT w.is_before)))[1] AS array_agg
    FROM whole w
   GROUP BY w.kind, w.id
   ORDER BY (min(w.n));
END;

CREATE FUNCTION public.count_matching() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO matchings SELECT DISTINCT application_id, 1 FROM new_rows
    ON CONFLICT (application_id) DO UPDATE SET number = matchings.number + 1;
    RETURN NULL;
END $$;

CREATE FUNCTION public.deepest_nesting() RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN 64;

CREATE FUNCTION public.default_group_header() RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN 'Group'::text;

CREATE FUNCTION public.deliveries_channel() RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN 'deliveries'::text;

CREATE FUNCTION public.empty_list() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    DELETE FROM list_changes WHERE list = TG_TABLE_NAME;
    DELETE FROM list_contents WHERE list = TG_TABLE_NAME;
    RETURN NULL;
END $$;

CREATE FUNCTION public.event_description(event text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE event WHEN 'AccessRequestCreated'::text THEN 'An access request is created'::text WHEN 'AccessRequestAssigned'::text THEN 'An access request is assigned to a person'::text WHEN 'AccessRequestApproved'::text THEN 'Approved by all required reviewers'::text WHEN 'AccessRequestProvisioning'::text THEN 'A request to automate a provision step is made'::text WHEN 'AccessRequestResolved'::text THEN 'Resolved by a provision engineer'::text WHEN 'AccessRequestReopened'::text THEN 'Reopened for provisioning'::text WHEN 'AccessRequestCompleted'::text THEN 'Successfully completed'::text WHEN 'AccessRequestCanceled'::text THEN 'Canceled'::text WHEN 'WebhookTest'::text THEN 'A test of the webhook was requested; the access request is a sample'::text ELSE NULL::text END;

CREATE FUNCTION public.event_display(event text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE event WHEN 'AccessRequestCreated'::text THEN 'Access Request Created'::text WHEN 'AccessRequestAssigned'::text THEN 'Access Request Assigned'::text WHEN 'AccessRequestApproved'::text THEN 'Access Request Approved'::text WHEN 'AccessRequestProvisioning'::text THEN 'Access Request Provisioning'::text WHEN 'AccessRequestResolved'::text THEN 'Access Request Resolved'::text WHEN 'AccessRequestReopened'::text THEN 'Access Request Reopened'::text WHEN 'AccessRequestCompleted'::text THEN 'Access Request Completed'::text WHEN 'AccessRequestCanceled'::text THEN 'Access Request Canceled'::text WHEN 'WebhookTest'::text THEN 'Webhook Test'::text ELSE NULL::text END;

CREATE FUNCTION public.failures_until_probed() RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN 16;

CREATE FUNCTION public.fan_out_events() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO webhook_deliveries (id, webhook_id, access_request_id, event, status, body, created_date, next_attempt_on)
    SELECT d.id, d.webhook_id, d.request_id, d.name, CASE WHEN d.enabled THEN 'Pending' ELSE 'Parked' END,
           webhook_body(d.id, d.created_at, d.name, d.request), d.created_at, CASE WHEN d.enabled THEN d.created_at END
    FROM (SELECT gen_random_uuid() AS id, h.id AS webhook_id, h.enabled, e.request_id, e.number, e.name, e.created_at, e.request
          FROM new_events e
          JOIN webhooks h ON (h.enabled OR h.disabled_reason IS NOT NULL) AND e.name = ANY (h.events)
                         AND (h.application_id IS NULL OR h.application_id = e.application_id)
          WHERE h.deleted_on IS NULL) AS d
    ORDER BY d.number, d.webhook_id;
    IF FOUND THEN
        PERFORM pg_notify(deliveries_channel(), '');
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION public.fold_list(the_list text) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    uneven jsonb[];
    the_facet jsonb;
BEGIN
    IF NOT take_list(the_list) THEN
        RETURN;
    END IF;
    WITH gone AS (
        DELETE FROM list_changes c WHERE c.list = the_list RETURNING c.key, c.facets, c.rows
    ), net AS (
        SELECT g.key, g.facets, sum(g.rows) AS rows FROM gone g GROUP BY g.key, g.facets HAVING sum(g.rows) <> 0
    ), subsets AS MATERIALIZED (
        -- Every filter that finds such a row: all subsets of its facets.
        SELECT DISTINCT n.facets, n.facets - s.subset AS facet
        FROM (SELECT DISTINCT net.facets FROM net) n
        CROSS JOIN subsets_of(ARRAY(SELECT DISTINCT jsonb_object_keys(net.facets) FROM net)) s
    ), moved AS (
        SELECT s.facet, sum(n.rows) AS total, array_agg(n.key) AS keys, array_agg(n.rows) AS rows
        FROM net n JOIN subsets s USING (facets) GROUP BY s.facet
    ), written AS (
        INSERT INTO list_contents AS c (list, facet, total, keys, starts)
        SELECT the_list, m.facet, coalesce(old.total, 0) + m.total, '{}', CASE WHEN cardinality(old.keys) > 0 THEN (
            SELECT array_agg(place.start + place.shift ORDER BY place.key) FILTER (WHERE place.start IS NOT NULL)
            FROM (
                SELECT p.key, p.start, sum(p.rows) OVER (ORDER BY p.key, p.start NULLS LAST ROWS UNBOUNDED PRECEDING) AS shift
                FROM (
                    SELECT b.key, b.start, 0 AS rows FROM unnest(old.keys, old.starts) AS b (key, start)
                    UNION ALL
                    SELECT d.key, NULL, d.rows FROM unnest(m.keys, m.rows) AS d (key, rows)
                ) p
            ) place
        ) ELSE '{}' END
        FROM moved m
        LEFT JOIN LATERAL (SELECT * FROM list_contents o WHERE o.list = the_list AND o.facet = m.facet OFFSET 0) old ON true
        ON CONFLICT (list, facet) DO UPDATE SET total = EXCLUDED.total, starts = EXCLUDED.starts
        RETURNING c.facet, c.total, c.starts
    )
    SELECT array_agg(w.facet) INTO uneven FROM written w
    WHERE cardinality(w.starts) > 2 * w.total / list_stride() + 10
       OR w.total > 2 * list_stride()
          AND (SELECT max(upper - lower) FROM unnest(0 || w.starts, w.starts || w.total) AS gap (lower, upper)) > 2 * list_stride();
    FOREACH the_facet IN ARRAY coalesce(uneven, '{}') LOOP
        PERFORM respace_list(the_list, the_facet);
    END LOOP;
END $$;

CREATE TABLE public.list_changes (
    number bigint NOT NULL,
    list text NOT NULL,
    key text NOT NULL COLLATE pg_catalog."C",
    facets jsonb NOT NULL,
    rows integer NOT NULL
);

CREATE FUNCTION public.fold_lists() RETURNS void
    LANGUAGE sql
    BEGIN ATOMIC
 SELECT public.fold_list(changed.list) AS fold_list
    FROM ( SELECT DISTINCT list_changes.list
            FROM public.list_changes) changed;
END;

CREATE FUNCTION public.forget_sign_ins() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    -- An import may remove thousands of people; few of them have signed in.
    IF EXISTS (SELECT FROM sign_in_links WHERE identity_id = NEW.id)
       OR EXISTS (SELECT FROM console_sessions WHERE identity_id = NEW.id) THEN
        DELETE FROM sign_in_links WHERE identity_id = NEW.id;
        DELETE FROM console_sessions WHERE identity_id = NEW.id;
    END IF;
    RETURN NULL;
END $$;

CREATE TABLE public.curations (
    entitlement_id uuid NOT NULL,
    display_name text DEFAULT ''::text NOT NULL,
    explanation text DEFAULT ''::text NOT NULL,
    owner_id uuid,
    risk_rating text,
    is_privileged boolean DEFAULT false NOT NULL,
    tags text[] DEFAULT '{}'::text[] NOT NULL,
    same_as uuid,
    changed_on timestamp with time zone NOT NULL,
    CONSTRAINT risk_rating_is_known CHECK ((risk_rating = ANY (ARRAY['None'::text, 'Low'::text, 'Moderate'::text, 'High'::text, 'Critical'::text]))),
    CONSTRAINT same_as_another CHECK ((same_as <> entitlement_id))
);

CREATE FUNCTION public.former_selves(id uuid) RETURNS TABLE(id uuid)
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 WITH RECURSIVE selves(id) AS (
          SELECT former_selves.id AS id
         UNION
          SELECT c.same_as
            FROM (selves s
              JOIN public.curations c ON ((c.entitlement_id = s.id)))
           WHERE (c.same_as IS NOT NULL)
         )
  SELECT selves.id
    FROM selves;
END;

CREATE FUNCTION public.in_any_case(name text) RETURNS text
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    AS $$SELECT lower(name COLLATE "default")$$;

CREATE TABLE public.group_versions (
    group_number integer NOT NULL,
    from_import integer NOT NULL,
    until_import integer,
    description text NOT NULL,
    nomenclature text NOT NULL,
    parent text NOT NULL,
    metadata text NOT NULL
);

CREATE SEQUENCE public.holder_numbers
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

CREATE TABLE public.groups (
    number integer DEFAULT nextval('public.holder_numbers'::regclass) NOT NULL,
    id uuid DEFAULT gen_random_uuid() NOT NULL,
    application_id uuid NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C"
);

CREATE FUNCTION public.parents_of(child integer) RETURNS TABLE(parent integer, during int4range)
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT p.number,
     unnest(range_agg(int4range(v.from_import, v.until_import))) AS unnest
    FROM ((public.group_versions v
      JOIN public.groups c ON ((c.number = v.group_number)))
      CROSS JOIN LATERAL ( SELECT g.number
            FROM public.groups g
           WHERE ((g.application_id = c.application_id) AND (public.in_any_case(g.name) = public.in_any_case(v.parent)))
           ORDER BY (g.name = v.parent) DESC, g.number
          LIMIT 1) p)
   WHERE ((v.group_number = parents_of.child) AND (v.parent <> ''::text))
   GROUP BY p.number;
END;

CREATE FUNCTION public.groups_above(starts integer[], as_of integer) RETURNS TABLE(number integer, above integer, path integer[], during int4range)
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 WITH RECURSIVE walked(number, above, path, during) AS (
          SELECT DISTINCT s.s,
             s.s,
             '{}'::integer[] AS int4,
             int4range(0, NULL::integer) AS int4range
            FROM unnest(groups_above.starts) s(s)
         UNION ALL
          SELECT w_1.number,
             l.parent,
             (w_1.path || w_1.above),
             (w_1.during * l.during)
            FROM (walked w_1
              CROSS JOIN LATERAL public.parents_of(w_1.above) l(parent, during))
           WHERE ((w_1.during && l.during) AND ((groups_above.as_of IS NULL) OR (l.during @> groups_above.as_of)) AND (l.parent <> ALL ((w_1.path || w_1.above))) AND (cardinality(w_1.path) < public.deepest_nesting()))
         )
  SELECT w.number,
     w.above,
     w.path,
     w.during
    FROM walked w;
END;

CREATE FUNCTION public.levels_in_order() RETURNS text[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN ARRAY['None'::text, 'Low'::text, 'Moderate'::text, 'High'::text, 'Critical'::text];

CREATE FUNCTION public.now_import() RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN 2147483646;

CREATE FUNCTION public.risk_rank(rating text) RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN array_position(public.levels_in_order(), rating);

CREATE TABLE public.assignments (
    holder_number integer NOT NULL,
    permission_number integer NOT NULL,
    access public.access NOT NULL,
    from_import integer NOT NULL,
    until_import integer,
    value text NOT NULL
);

CREATE TABLE public.permission_versions (
    permission_number integer NOT NULL,
    from_import integer NOT NULL,
    until_import integer,
    description text NOT NULL,
    risk_rating text NOT NULL,
    CONSTRAINT risk_rating_is_known CHECK ((risk_rating = ANY (ARRAY['None'::text, 'Low'::text, 'Moderate'::text, 'High'::text, 'Critical'::text])))
);

CREATE TABLE public.permissions (
    number integer NOT NULL,
    id uuid DEFAULT gen_random_uuid() NOT NULL,
    application_id uuid NOT NULL,
    header text NOT NULL COLLATE pg_catalog."C",
    section text NOT NULL COLLATE pg_catalog."C",
    permission text NOT NULL COLLATE pg_catalog."C"
);

CREATE FUNCTION public.given_risk_at(number integer, as_of integer) RETURNS text
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 WITH above AS MATERIALIZED (
          SELECT DISTINCT w.above AS number
            FROM public.groups_above(ARRAY[given_risk_at.number], COALESCE(given_risk_at.as_of, public.now_import())) w(number, above, path, during)
         )
  SELECT COALESCE(( SELECT rated.risk
            FROM ( SELECT COALESCE(c.risk_rating, v.risk_rating) AS risk
                    FROM ((((above
                      JOIN public.assignments s ON (((s.holder_number = above.number) AND (s.access <> 'None'::public.access) AND (s.from_import <= COALESCE(given_risk_at.as_of, s.from_import)) AND ((s.until_import IS NULL) OR (s.until_import > given_risk_at.as_of)))))
                      JOIN public.permission_versions v ON (((v.permission_number = s.permission_number) AND (v.from_import <= COALESCE(given_risk_at.as_of, v.from_import)) AND ((v.until_import IS NULL) OR (v.until_import > given_risk_at.as_of)))))
                      JOIN public.permissions p ON ((p.number = s.permission_number)))
                      LEFT JOIN public.curations c ON ((c.entitlement_id = p.id)))
                 UNION ALL
                  SELECT c.risk_rating
                    FROM ((above
                      JOIN public.groups g ON ((g.number = above.number)))
                      JOIN public.curations c ON ((c.entitlement_id = g.id)))
                   WHERE ((c.risk_rating IS NOT NULL) AND (g.number <> given_risk_at.number))) rated
           ORDER BY (public.risk_rank(rated.risk)) DESC
          LIMIT 1), 'None'::text) AS "coalesce";
END;

CREATE FUNCTION public.group_cycle(number integer, as_of integer) RETURNS integer[]
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT (w.path || w.above)
    FROM (public.groups_above(ARRAY[group_cycle.number], group_cycle.as_of) w(number, above, path, during)
      CROSS JOIN LATERAL public.parents_of(w.above) l(parent, during))
   WHERE ((l.parent = group_cycle.number) AND (l.during @> group_cycle.as_of))
  LIMIT 1;
END;

CREATE FUNCTION public.group_header(nomenclature text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN COALESCE(NULLIF(nomenclature, ''::text), public.default_group_header());

CREATE FUNCTION public.group_names(numbers integer[]) RETURNS text[]
    LANGUAGE sql STABLE
    RETURN COALESCE((SELECT array_agg(g.name ORDER BY n.place) AS array_agg FROM (unnest(group_names.numbers) WITH ORDINALITY n(number, place) JOIN public.groups g ON ((g.number = n.number)))), '{}'::text[]);

CREATE FUNCTION public.group_risk_at(number integer, as_of integer) RETURNS text
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT COALESCE(( SELECT c.risk_rating
            FROM (public.groups g
              JOIN public.curations c ON ((c.entitlement_id = g.id)))
           WHERE (g.number = group_risk_at.number)), public.given_risk_at(number, as_of)) AS "coalesce";
END;

CREATE FUNCTION public.group_risk(number integer) RETURNS text
    LANGUAGE sql STABLE
    RETURN public.group_risk_at(number, NULL::integer);

CREATE FUNCTION public.groups_below(start integer, as_of integer) RETURNS TABLE(number integer, path integer[], during int4range)
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 WITH RECURSIVE walked(number, path, during) AS (
          SELECT groups_below.start AS start,
             '{}'::integer[] AS int4,
             int4range(0, NULL::integer) AS int4range
         UNION ALL
          SELECT child.number,
             (child.number || w_1.path),
             (w_1.during * l.during)
            FROM (((walked w_1
              JOIN public.groups g ON ((g.number = w_1.number)))
              CROSS JOIN LATERAL ( SELECT DISTINCT c.number
                    FROM (public.group_versions v
                      JOIN public.groups c ON ((c.number = v.group_number)))
                   WHERE ((public.in_any_case(v.parent) = public.in_any_case(g.name)) AND (v.parent <> ''::text) AND (c.application_id = g.application_id))) child)
              CROSS JOIN LATERAL public.parents_of(child.number) l(parent, during))
           WHERE ((l.parent = w_1.number) AND (w_1.during && l.during) AND ((groups_below.as_of IS NULL) OR (l.during @> groups_below.as_of)) AND (child.number <> ALL ((groups_below.start || w_1.path))) AND (cardinality(w_1.path) < public.deepest_nesting()))
         )
  SELECT w.number,
     w.path,
     w.during
    FROM walked w;
END;

CREATE FUNCTION public.username_key(username text) RETURNS text
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN CASE WHEN (octet_length(username) = char_length(username)) THEN lower((username COLLATE "C")) ELSE lower((translate(NORMALIZE(username, NFKD), 'ÆØŁĐÐÞŒΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩςАБВГДЕЖЗИЙКЛМНОПРСТУФХЦЧШЩЪЫЬЭЮЯЄІЇЉЊЋЏҐ'::text, 'æøłđðþœαβγδεζηθικλμνξοπρστυφχψωσабвгдежзийклмнопрстуфхцчшщъыьэюяєіїљњћџґ'::text) COLLATE "C")) END;

CREATE TABLE public.accounts (
    number integer DEFAULT nextval('public.holder_numbers'::regclass) NOT NULL,
    id uuid DEFAULT gen_random_uuid() NOT NULL,
    application_id uuid NOT NULL,
    username text NOT NULL COLLATE pg_catalog."C",
    pin text,
    match text DEFAULT 'Unmatched'::text NOT NULL,
    identity_id uuid,
    matched_on timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT match_is_known CHECK ((match = ANY (ARRAY['Pinned'::text, 'Never'::text, 'Employee ID'::text, 'Email'::text, 'Name'::text, 'Disputed'::text, 'Unmatched'::text]))),
    CONSTRAINT pin_is_known CHECK ((pin = ANY (ARRAY['Pinned'::text, 'Never'::text])))
);

CREATE TABLE public.entitlements (
    id uuid NOT NULL,
    kind text NOT NULL,
    number integer NOT NULL,
    application_id uuid NOT NULL,
    header text NOT NULL,
    section text NOT NULL,
    name text NOT NULL,
    description text NOT NULL,
    is_present boolean NOT NULL,
    first_import integer NOT NULL,
    gone_import integer,
    risk_rating text NOT NULL,
    display_name text DEFAULT ''::text NOT NULL,
    is_privileged boolean DEFAULT false NOT NULL,
    owner_id uuid,
    tags text[] DEFAULT '{}'::text[] NOT NULL,
    name_key text GENERATED ALWAYS AS ((("left"(public.username_key(COALESCE(NULLIF(display_name, ''::text), NULLIF(name, ''::text), section)), 200) || chr(1)) || (id)::text)) STORED NOT NULL COLLATE pg_catalog."C",
    list_key text GENERATED ALWAYS AS (
CASE
    WHEN is_present THEN (("left"(public.username_key(COALESCE(NULLIF(display_name, ''::text), NULLIF(name, ''::text), section)), 200) || chr(1)) || (id)::text)
    ELSE NULL::text
END) STORED COLLATE pg_catalog."C",
    CONSTRAINT kind_is_known CHECK ((kind = ANY (ARRAY['Group'::text, 'Permission'::text]))),
    CONSTRAINT risk_rating_is_known CHECK ((risk_rating = ANY (ARRAY['None'::text, 'Low'::text, 'Moderate'::text, 'High'::text, 'Critical'::text])))
);

CREATE TABLE public.memberships (
    account_number integer NOT NULL,
    group_number integer NOT NULL,
    from_import integer NOT NULL,
    until_import integer
);

CREATE FUNCTION public.holdings_of(entitlement uuid, as_of integer) RETURNS TABLE(id uuid, account integer, path integer[], access text, during int4range)
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 WITH selves AS MATERIALIZED (
          SELECT e.id,
             e.kind,
             e.number
            FROM (public.former_selves(holdings_of.entitlement) f(id)
              JOIN public.entitlements e ON ((e.id = f.id)))
         ), given AS MATERIALIZED (
          SELECT e.id,
             e.number AS giver,
             '{}'::integer[] AS last,
             'Grant'::text AS access,
             int4range(0, NULL::integer) AS during
            FROM selves e
           WHERE (e.kind = 'Group'::text)
         UNION ALL
          SELECT e.id,
             g.number,
             ARRAY[g.number] AS "array",
             (s.access)::text AS access,
             int4range(s.from_import, s.until_import) AS int4range
            FROM ((selves e
              JOIN public.assignments s ON ((s.permission_number = e.number)))
              JOIN public.groups g ON ((g.number = s.holder_number)))
           WHERE ((e.kind = 'Permission'::text) AND (s.access <> ALL (ARRAY['None'::public.access, 'Deny'::public.access])) AND ((holdings_of.as_of IS NULL) OR ((s.from_import <= holdings_of.as_of) AND ((s.until_import IS NULL) OR (s.until_import > holdings_of.as_of)))))
         ), through AS MATERIALIZED (
          SELECT g.id,
             b.number,
             (b.path || g.last) AS path,
             g.access,
             (g.during * b.during) AS during
            FROM (given g
              CROSS JOIN LATERAL public.groups_below(g.giver, holdings_of.as_of) b(number, path, during))
           WHERE (g.during && b.during)
         )
  SELECT e.id,
     a.number,
     '{}'::integer[] AS int4,
     (s.access)::text AS access,
     int4range(s.from_import, s.until_import) AS int4range
    FROM ((selves e
      JOIN public.assignments s ON ((s.permission_number = e.number)))
      JOIN public.accounts a ON ((a.number = s.holder_number)))
   WHERE ((e.kind = 'Permission'::text) AND (s.access <> ALL (ARRAY['None'::public.access, 'Deny'::public.access])) AND ((holdings_of.as_of IS NULL) OR ((s.from_import <= holdings_of.as_of) AND ((s.until_import IS NULL) OR (s.until_import > holdings_of.as_of)))))
 UNION ALL
  SELECT t.id,
     m.account_number,
     t.path,
     t.access,
     (t.during * int4range(m.from_import, m.until_import))
    FROM (through t
      JOIN public.memberships m ON ((m.group_number = t.number)))
   WHERE ((t.during && int4range(m.from_import, m.until_import)) AND ((holdings_of.as_of IS NULL) OR ((m.from_import <= holdings_of.as_of) AND ((m.until_import IS NULL) OR (m.until_import > holdings_of.as_of)))));
END;

CREATE FUNCTION public.holdings_of_accounts(entitlement uuid, as_of integer, accounts integer[]) RETURNS TABLE(id uuid, account integer, path integer[], access text, during int4range)
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 WITH selves AS MATERIALIZED (
          SELECT e.id,
             e.kind,
             e.number
            FROM (public.former_selves(holdings_of_accounts.entitlement) f(id)
              JOIN public.entitlements e ON ((e.id = f.id)))
         ), joined AS MATERIALIZED (
          SELECT m.account_number,
             m.group_number,
             int4range(m.from_import, m.until_import) AS during
            FROM public.memberships m
           WHERE ((m.account_number = ANY (holdings_of_accounts.accounts)) AND ((holdings_of_accounts.as_of IS NULL) OR ((m.from_import <= holdings_of_accounts.as_of) AND ((m.until_import IS NULL) OR (m.until_import > holdings_of_accounts.as_of)))))
         ), walked AS MATERIALIZED (
          SELECT j.account_number,
             w.above,
             w.path,
             (j.during * w.during) AS during
            FROM (joined j
              JOIN public.groups_above(ARRAY( SELECT DISTINCT joined.group_number
                    FROM joined), holdings_of_accounts.as_of) w(number, above, path, during) ON ((w.number = j.group_number)))
           WHERE (j.during && w.during)
         )
  SELECT e.id,
     s.holder_number,
     '{}'::integer[] AS int4,
     (s.access)::text AS access,
     int4range(s.from_import, s.until_import) AS int4range
    FROM (selves e
      JOIN public.assignments s ON (((s.permission_number = e.number) AND (s.holder_number = ANY (holdings_of_accounts.accounts)))))
   WHERE ((e.kind = 'Permission'::text) AND (s.access <> ALL (ARRAY['None'::public.access, 'Deny'::public.access])) AND ((holdings_of_accounts.as_of IS NULL) OR ((s.from_import <= holdings_of_accounts.as_of) AND ((s.until_import IS NULL) OR (s.until_import > holdings_of_accounts.as_of)))))
 UNION ALL
  SELECT e.id,
     w.account_number,
     w.path,
     'Grant'::text,
     w.during
    FROM (selves e
      JOIN walked w ON ((w.above = e.number)))
   WHERE (e.kind = 'Group'::text)
 UNION ALL
  SELECT e.id,
     w.account_number,
     (w.path || w.above),
     (s.access)::text AS access,
     (w.during * int4range(s.from_import, s.until_import))
    FROM ((selves e
      CROSS JOIN walked w)
      JOIN public.assignments s ON (((s.holder_number = w.above) AND (s.permission_number = e.number))))
   WHERE ((e.kind = 'Permission'::text) AND (s.access <> ALL (ARRAY['None'::public.access, 'Deny'::public.access])) AND (w.during && int4range(s.from_import, s.until_import)) AND ((holdings_of_accounts.as_of IS NULL) OR ((s.from_import <= holdings_of_accounts.as_of) AND ((s.until_import IS NULL) OR (s.until_import > holdings_of_accounts.as_of)))));
END;

CREATE FUNCTION public.identities_matching(conditions jsonb) RETURNS TABLE(id uuid)
    LANGUAGE plpgsql STABLE
    AS $$
BEGIN
    RETURN QUERY EXECUTE format('SELECT p.id FROM (%s) AS p WHERE %s', access_model_people('identities'), access_model_test(conditions));
END $$;

CREATE TABLE public.past_matches (
    account_number integer NOT NULL,
    identity_id uuid NOT NULL,
    since timestamp with time zone NOT NULL,
    until timestamp with time zone NOT NULL
);

CREATE FUNCTION public.identity_then(account public.accounts, moment timestamp with time zone) RETURNS uuid
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT COALESCE(( SELECT m.identity_id
            FROM public.past_matches m
           WHERE (((identity_then.account).pin IS NULL) AND (m.account_number = (identity_then.account).number) AND (m.since <= identity_then.moment) AND (m.until > identity_then.moment))
           ORDER BY m.since DESC
          LIMIT 1), (account).identity_id) AS "coalesce";
END;

CREATE FUNCTION public.in_order_of_time(entries text[], last_number bigint) RETURNS text[]
    LANGUAGE plpgsql STABLE
    AS $$
DECLARE
    last record;
    created text := entries[1]::jsonb ->> 'createdDate';
BEGIN
    SELECT e.created_key, e.entry::jsonb -> 'createdDate' AS created INTO last FROM audit_events e WHERE e.number = last_number;
    IF last.created_key IS NULL OR left(rtrim(created, 'Z') || '.000000', 26) COLLATE "C" >= last.created_key THEN
        RETURN entries;
    END IF;
    RETURN ARRAY(SELECT (e.entry::jsonb || jsonb_build_object('createdDate', last.created))::text
                 FROM unnest(entries) WITH ORDINALITY AS e (entry, n) ORDER BY e.n);
END $$;

CREATE TABLE public.list_contents (
    list text NOT NULL,
    facet jsonb NOT NULL,
    total bigint NOT NULL,
    keys text[] NOT NULL COLLATE pg_catalog."C",
    starts bigint[] NOT NULL
)
WITH (fillfactor='50');
ALTER TABLE ONLY public.list_contents ALTER COLUMN keys SET STORAGE EXTERNAL;
ALTER TABLE ONLY public.list_contents ALTER COLUMN starts SET STORAGE EXTERNAL;

CREATE FUNCTION public.is_bulk(the_list text, touched bigint) RETURNS boolean
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT ((4 * touched) > COALESCE(( SELECT list_contents.total
            FROM public.list_contents
           WHERE ((list_contents.list = is_bulk.the_list) AND (list_contents.facet = '{}'::jsonb))), (0)::bigint));
END;

CREATE FUNCTION public.is_bulk_change() RETURNS boolean
    LANGUAGE sql STABLE
    RETURN COALESCE((((NULLIF(current_setting('rolecall.author'::text, true), ''::text))::jsonb ->> 'bulk'::text))::boolean, false);

CREATE FUNCTION public.keep_access_model_members_on_delete() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
            DECLARE
                touched bigint := (SELECT count(*) FROM old_rows);
            BEGIN
                IF touched > 2 * list_stride() AND is_bulk('access_model_members', touched) AND take_list('access_model_members') THEN
                    PERFORM recount_list('access_model_members', '{model_id}');
                    RETURN NULL;
                END IF;
                INSERT INTO list_changes (list, key, facets, rows) SELECT 'access_model_members', list_key, jsonb_strip_nulls(jsonb_build_object('model_id', model_id)), -1 FROM old_rows WHERE list_key IS NOT NULL;
                GET DIAGNOSTICS touched = ROW_COUNT;
                IF touched > 0 AND currval('list_changes_number_seq') % list_patience() < touched THEN
                    PERFORM fold_lists();
                END IF;
                RETURN NULL;
            END $$;

CREATE FUNCTION public.keep_access_model_members_on_insert() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
            DECLARE
                touched bigint := (SELECT count(*) FROM new_rows);
            BEGIN
                IF touched > 2 * list_stride() AND is_bulk('access_model_members', touched) AND take_list('access_model_members') THEN
                    PERFORM recount_list('access_model_members', '{model_id}');
                    RETURN NULL;
                END IF;
                INSERT INTO list_changes (list, key, facets, rows) SELECT 'access_model_members', list_key, jsonb_strip_nulls(jsonb_build_object('model_id', model_id)), 1 FROM new_rows WHERE list_key IS NOT NULL;
                GET DIAGNOSTICS touched = ROW_COUNT;
                IF touched > 0 AND currval('list_changes_number_seq') % list_patience() < touched THEN
                    PERFORM fold_lists();
                END IF;
                RETURN NULL;
            END $$;

CREATE FUNCTION public.keep_access_model_members_on_update() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
            DECLARE
                touched bigint := (SELECT count(*) FROM new_rows);
            BEGIN
                IF touched > 2 * list_stride() AND is_bulk('access_model_members', touched) AND take_list('access_model_members') THEN
                    PERFORM recount_list('access_model_members', '{model_id}');
                    RETURN NULL;
                END IF;
                INSERT INTO list_changes (list, key, facets, rows) SELECT 'access_model_members', list_key, jsonb_strip_nulls(jsonb_build_object('model_id', model_id)), sum(rows) FROM (SELECT list_key, model_id, 1 AS rows FROM new_rows UNION ALL SELECT list_key, model_id, -1 FROM old_rows) AS changes
                 WHERE list_key IS NOT NULL GROUP BY list_key, model_id HAVING sum(rows) <> 0;
                GET DIAGNOSTICS touched = ROW_COUNT;
                IF touched > 0 AND currval('list_changes_number_seq') % list_patience() < touched THEN
                    PERFORM fold_lists();
                END IF;
                RETURN NULL;
            END $$;

CREATE FUNCTION public.keep_access_requests_on_delete() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
            DECLARE
                touched bigint := (SELECT count(*) FROM old_rows);
            BEGIN
                IF touched > 2 * list_stride() AND is_bulk('access_requests', touched) AND take_list('access_requests') THEN
                    PERFORM recount_list('access_requests', '{application_id,status,action}');
                    RETURN NULL;
                END IF;
                INSERT INTO list_changes (list, key, facets, rows) SELECT 'access_requests', list_key, jsonb_strip_nulls(jsonb_build_object('application_id', application_id, 'status', status, 'action', action)), -1 FROM old_rows WHERE list_key IS NOT NULL;
                GET DIAGNOSTICS touched = ROW_COUNT;
                IF touched > 0 AND currval('list_changes_number_seq') % list_patience() < touched THEN
                    PERFORM fold_lists();
                END IF;
                RETURN NULL;
            END $$;

CREATE FUNCTION public.keep_access_requests_on_insert() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
            DECLARE
                touched bigint := (SELECT count(*) FROM new_rows);
            BEGIN
                IF touched > 2 * list_stride() AND is_bulk('access_requests', touched) AND take_list('access_requests') THEN
                    PERFORM recount_list('access_requests', '{application_id,status,action}');
                    RETURN NULL;
                END IF;
                INSERT INTO list_changes (list, key, facets, rows) SELECT 'access_requests', list_key, jsonb_strip_nulls(jsonb_build_object('application_id', application_id, 'status', status, 'action', action)), 1 FROM new_rows WHERE list_key IS NOT NULL;
                GET DIAGNOSTICS touched = ROW_COUNT;
                IF touched > 0 AND currval('list_changes_number_seq') % list_patience() < touched THEN
                    PERFORM fold_lists();
                END IF;
                RETURN NULL;
            END $$;

CREATE FUNCTION public.keep_access_requests_on_update() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
            DECLARE
                touched bigint := (SELECT count(*) FROM new_rows);
            BEGIN
                IF touched > 2 * list_stride() AND is_bulk('access_requests', touched) AND take_list('access_requests') THEN
                    PERFORM recount_list('access_requests', '{application_id,status,action}');
                    RETURN NULL;
                END IF;
                INSERT INTO list_changes (list, key, facets, rows) SELECT 'access_requests', list_key, jsonb_strip_nulls(jsonb_build_object('application_id', application_id, 'status', status, 'action', action)), sum(rows) FROM (SELECT list_key, application_id, status, action, 1 AS rows FROM new_rows UNION ALL SELECT list_key, application_id, status, action, -1 FROM old_rows) AS changes
                 WHERE list_key IS NOT NULL GROUP BY list_key, application_id, status, action HAVING sum(rows) <> 0;
                GET DIAGNOSTICS touched = ROW_COUNT;
                IF touched > 0 AND currval('list_changes_number_seq') % list_patience() < touched THEN
                    PERFORM fold_lists();
                END IF;
                RETURN NULL;
            END $$;

CREATE FUNCTION public.keep_application_imports_on_delete() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
            DECLARE
                touched bigint := (SELECT count(*) FROM old_rows);
            BEGIN
                IF touched > 2 * list_stride() AND is_bulk('application_imports', touched) AND take_list('application_imports') THEN
                    PERFORM recount_list('application_imports', '{application_id}');
                    RETURN NULL;
                END IF;
                INSERT INTO list_changes (list, key, facets, rows) SELECT 'application_imports', list_key, jsonb_strip_nulls(jsonb_build_object('application_id', application_id)), -1 FROM old_rows WHERE list_key IS NOT NULL;
                GET DIAGNOSTICS touched = ROW_COUNT;
                IF touched > 0 AND currval('list_changes_number_seq') % list_patience() < touched THEN
                    PERFORM fold_lists();
                END IF;
                RETURN NULL;
            END $$;

CREATE FUNCTION public.keep_application_imports_on_insert() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
            DECLARE
                touched bigint := (SELECT count(*) FROM new_rows);
            BEGIN
                IF touched > 2 * list_stride() AND is_bulk('application_imports', touched) AND take_list('application_imports') THEN
                    PERFORM recount_list('application_imports', '{application_id}');
                    RETURN NULL;
                END IF;
                INSERT INTO list_changes (list, key, facets, rows) SELECT 'application_imports', list_key, jsonb_strip_nulls(jsonb_build_object('application_id', application_id)), 1 FROM new_rows WHERE list_key IS NOT NULL;
                GET DIAGNOSTICS touched = ROW_COUNT;
                IF touched > 0 AND currval('list_changes_number_seq') % list_patience() < touched THEN
                    PERFORM fold_lists();
                END IF;
                RETURN NULL;
            END $$;

CREATE FUNCTION public.keep_application_imports_on_update() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
            DECLARE
                touched bigint := (SELECT count(*) FROM new_rows);
            BEGIN
                IF touched > 2 * list_stride() AND is_bulk('application_imports', touched) AND take_list('application_imports') THEN
                    PERFORM recount_list('application_imports', '{application_id}');
                    RETURN NULL;
                END IF;
                INSERT INTO list_changes (list, key, facets, rows) SELECT 'application_imports', list_key, jsonb_strip_nulls(jsonb_build_object('application_id', application_id)), sum(rows) FROM (SELECT list_key, application_id, 1 AS rows FROM new_rows UNION ALL SELECT list_key, application_id, -1 FROM old_rows) AS changes
                 WHERE list_key IS NOT NULL GROUP BY list_key, application_id HAVING sum(rows) <> 0;
                GET DIAGNOSTICS touched = ROW_COUNT;
                IF touched > 0 AND currval('list_changes_number_seq') % list_patience() < touched THEN
                    PERFORM fold_lists();
                END IF;
                RETURN NULL;
            END $$;

CREATE FUNCTION public.keep_applications_on_delete() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
            DECLARE
                touched bigint := (SELECT count(*) FROM old_rows);
            BEGIN
                IF touched > 2 * list_stride() AND is_bulk('applications', touched) AND take_list('applications') THEN
                    PERFORM recount_list('applications', '{}');
                    RETURN NULL;
                END IF;
                INSERT INTO list_changes (list, key, facets, rows) SELECT 'applications', list_key, jsonb_strip_nulls(jsonb_build_object()), -1 FROM old_rows WHERE list_key IS NOT NULL;
                GET DIAGNOSTICS touched = ROW_COUNT;
                IF touched > 0 AND currval('list_changes_number_seq') % list_patience() < touched THEN
                    PERFORM fold_lists();
                END IF;
                RETURN NULL;
            END $$;

CREATE FUNCTION public.keep_applications_on_insert() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
            DECLARE
                touched bigint := (SELECT count(*) FROM new_rows);
            BEGIN
                IF touched > 2 * list_stride() AND is_bulk('applications', touched) AND take_list('applications') THEN
                    PERFORM recount_list('applications', '{}');
                    RETURN NULL;
                END IF;
                INSERT INTO list_changes (list, key, facets, rows) SELECT 'applications', list_key, jsonb_strip_nulls(jsonb_build_object()), 1 FROM new_rows WHERE list_key IS NOT NULL;
                GET DIAGNOSTICS touched = ROW_COUNT;
                IF touched > 0 AND currval('list_changes_number_seq') % list_patience() < touched THEN
                    PERFORM fold_lists();
                END IF;
                RETURN NULL;
            END $$;

CREATE FUNCTION public.keep_applications_on_update() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
            DECLARE
                touched bigint := (SELECT count(*) FROM new_rows);
            BEGIN
                IF touched > 2 * list_stride() AND is_bulk('applications', touched) AND take_list('applications') THEN
                    PERFORM recount_list('applications', '{}');
                    RETURN NULL;
                END IF;
                INSERT INTO list_changes (list, key, facets, rows) SELECT 'applications', list_key, jsonb_strip_nulls(jsonb_build_object()), sum(rows) FROM (SELECT list_key, 1 AS rows FROM new_rows UNION ALL SELECT list_key, -1 FROM old_rows) AS changes
                 WHERE list_key IS NOT NULL GROUP BY list_key HAVING sum(rows) <> 0;
                GET DIAGNOSTICS touched = ROW_COUNT;
                IF touched > 0 AND currval('list_changes_number_seq') % list_patience() < touched THEN
                    PERFORM fold_lists();
                END IF;
                RETURN NULL;
            END $$;

CREATE PROCEDURE public.keep_audit(IN source regclass, IN kind text, IN id text, IN value text, IN part text DEFAULT ''''''::text)
    LANGUAGE plpgsql
    AS $_$
BEGIN
    EXECUTE format($sql$
        CREATE OR REPLACE FUNCTION note_%1$s() RETURNS trigger LANGUAGE plpgsql AS $note$
        BEGIN
            IF %1$L = 'identities' AND is_bulk_change() THEN
                RETURN NULL;
            ELSIF TG_OP = 'INSERT' THEN
                PERFORM note_changes((SELECT string_agg(jsonb_build_object('kind', %2$s, 'id', %3$s, 'part', %4$s, 'is', %5$s)::text, ',')
                                      FROM new_rows r WHERE %3$s IS NOT NULL));
            ELSIF TG_OP = 'DELETE' THEN
                PERFORM note_changes((SELECT string_agg(jsonb_build_object('kind', %2$s, 'id', %3$s, 'part', %4$s, 'was', %5$s)::text, ',')
                                      FROM old_rows r WHERE %3$s IS NOT NULL));
            ELSE
                -- Differences of sets, not a join: linear whatever plan a session kept.
                PERFORM note_changes((SELECT string_agg(note::text, ',') FROM (
                    SELECT jsonb_build_object('kind', %2$s, 'id', %3$s, 'part', %4$s, 'was', %5$s) FROM old_rows r
                    EXCEPT SELECT jsonb_build_object('kind', %2$s, 'id', %3$s, 'part', %4$s, 'was', %5$s) FROM new_rows r) AS notes (note)));
                PERFORM note_changes((SELECT string_agg(note::text, ',') FROM (
                    SELECT jsonb_build_object('kind', %2$s, 'id', %3$s, 'part', %4$s, 'is', %5$s) FROM new_rows r
                    EXCEPT SELECT jsonb_build_object('kind', %2$s, 'id', %3$s, 'part', %4$s, 'is', %5$s) FROM old_rows r) AS notes (note)));
            END IF;
            RETURN NULL;
        END $note$;
        CREATE OR REPLACE TRIGGER note_insert AFTER INSERT ON %1$s REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION note_%1$s();
        CREATE OR REPLACE TRIGGER note_delete AFTER DELETE ON %1$s REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION note_%1$s();
        CREATE OR REPLACE TRIGGER note_update AFTER UPDATE ON %1$s REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
            FOR EACH STATEMENT EXECUTE FUNCTION note_%1$s();
    $sql$, source, kind, id, part, value);
END $_$;

CREATE FUNCTION public.keep_audit_events_on_delete() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
            DECLARE
                touched bigint := (SELECT count(*) FROM old_rows);
            BEGIN
                IF touched > 2 * list_stride() AND is_bulk('audit_events', touched) AND take_list('audit_events') THEN
                    PERFORM recount_list('audit_events', '{}');
                    RETURN NULL;
                END IF;
                INSERT INTO list_changes (list, key, facets, rows) SELECT 'audit_events', list_key, jsonb_strip_nulls(jsonb_build_object()), -1 FROM old_rows WHERE list_key IS NOT NULL;
                GET DIAGNOSTICS touched = ROW_COUNT;
                IF touched > 0 AND currval('list_changes_number_seq') % list_patience() < touched THEN
                    PERFORM fold_lists();
                END IF;
                RETURN NULL;
            END $$;

CREATE FUNCTION public.keep_audit_events_on_insert() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
            DECLARE
                touched bigint := (SELECT count(*) FROM new_rows);
            BEGIN
                IF touched > 2 * list_stride() AND is_bulk('audit_events', touched) AND take_list('audit_events') THEN
                    PERFORM recount_list('audit_events', '{}');
                    RETURN NULL;
                END IF;
                INSERT INTO list_changes (list, key, facets, rows) SELECT 'audit_events', list_key, jsonb_strip_nulls(jsonb_build_object()), 1 FROM new_rows WHERE list_key IS NOT NULL;
                GET DIAGNOSTICS touched = ROW_COUNT;
                IF touched > 0 AND currval('list_changes_number_seq') % list_patience() < touched THEN
                    PERFORM fold_lists();
                END IF;
                RETURN NULL;
            END $$;

CREATE FUNCTION public.keep_audit_events_on_update() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
            DECLARE
                touched bigint := (SELECT count(*) FROM new_rows);
            BEGIN
                IF touched > 2 * list_stride() AND is_bulk('audit_events', touched) AND take_list('audit_events') THEN
                    PERFORM recount_list('audit_events', '{}');
                    RETURN NULL;
                END IF;
                INSERT INTO list_changes (list, key, facets, rows) SELECT 'audit_events', list_key, jsonb_strip_nulls(jsonb_build_object()), sum(rows) FROM (SELECT list_key, 1 AS rows FROM new_rows UNION ALL SELECT list_key, -1 FROM old_rows) AS changes
                 WHERE list_key IS NOT NULL GROUP BY list_key HAVING sum(rows) <> 0;
                GET DIAGNOSTICS touched = ROW_COUNT;
                IF touched > 0 AND currval('list_changes_number_seq') % list_patience() < touched THEN
                    PERFORM fold_lists();
                END IF;
                RETURN NULL;
            END $$;

CREATE FUNCTION public.keep_checkpoint() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF current_setting('rolecall.chain', true) = NEW.chain::text THEN
        PERFORM set_config('rolecall.chain', '', true);
        UPDATE audit_checkpoints c SET chains = s.chains, numbers = s.numbers, hashes = s.hashes
        FROM (SELECT array_agg(h.chain) AS chains, array_agg(h.number) AS numbers, array_agg(h.hash) AS hashes FROM audit_heads h) s
        WHERE c.chain = NEW.chain AND c.hashes[array_position(c.chains, NEW.chain)] IS NOT DISTINCT FROM OLD.hash AND NOT EXISTS (
            SELECT FROM unnest(c.chains, c.numbers, c.hashes) AS seen (chain, number, hash) LEFT JOIN audit_heads h ON h.chain = seen.chain
            WHERE h.number IS NULL OR h.number < seen.number OR h.number = seen.number AND h.hash <> seen.hash);
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION public.keep_entitlements_on_delete() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
            DECLARE
                touched bigint := (SELECT count(*) FROM old_rows);
            BEGIN
                IF touched > 2 * list_stride() AND is_bulk('entitlements', touched) AND take_list('entitlements') THEN
                    PERFORM recount_list('entitlements', '{application_id,kind,risk_rating}');
                    RETURN NULL;
                END IF;
                INSERT INTO list_changes (list, key, facets, rows) SELECT 'entitlements', list_key, jsonb_strip_nulls(jsonb_build_object('application_id', application_id, 'kind', kind, 'risk_rating', risk_rating)), -1 FROM old_rows WHERE list_key IS NOT NULL;
                GET DIAGNOSTICS touched = ROW_COUNT;
                IF touched > 0 AND currval('list_changes_number_seq') % list_patience() < touched THEN
                    PERFORM fold_lists();
                END IF;
                RETURN NULL;
            END $$;

CREATE FUNCTION public.keep_entitlements_on_insert() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
            DECLARE
                touched bigint := (SELECT count(*) FROM new_rows);
            BEGIN
                IF touched > 2 * list_stride() AND is_bulk('entitlements', touched) AND take_list('entitlements') THEN
                    PERFORM recount_list('entitlements', '{application_id,kind,risk_rating}');
                    RETURN NULL;
                END IF;
                INSERT INTO list_changes (list, key, facets, rows) SELECT 'entitlements', list_key, jsonb_strip_nulls(jsonb_build_object('application_id', application_id, 'kind', kind, 'risk_rating', risk_rating)), 1 FROM new_rows WHERE list_key IS NOT NULL;
                GET DIAGNOSTICS touched = ROW_COUNT;
                IF touched > 0 AND currval('list_changes_number_seq') % list_patience() < touched THEN
                    PERFORM fold_lists();
                END IF;
                RETURN NULL;
            END $$;

CREATE FUNCTION public.keep_entitlements_on_update() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
            DECLARE
                touched bigint := (SELECT count(*) FROM new_rows);
            BEGIN
                IF touched > 2 * list_stride() AND is_bulk('entitlements', touched) AND take_list('entitlements') THEN
                    PERFORM recount_list('entitlements', '{application_id,kind,risk_rating}');
                    RETURN NULL;
                END IF;
                INSERT INTO list_changes (list, key, facets, rows) SELECT 'entitlements', list_key, jsonb_strip_nulls(jsonb_build_object('application_id', application_id, 'kind', kind, 'risk_rating', risk_rating)), sum(rows) FROM (SELECT list_key, application_id, kind, risk_rating, 1 AS rows FROM new_rows UNION ALL SELECT list_key, application_id, kind, risk_rating, -1 FROM old_rows) AS changes
                 WHERE list_key IS NOT NULL GROUP BY list_key, application_id, kind, risk_rating HAVING sum(rows) <> 0;
                GET DIAGNOSTICS touched = ROW_COUNT;
                IF touched > 0 AND currval('list_changes_number_seq') % list_patience() < touched THEN
                    PERFORM fold_lists();
                END IF;
                RETURN NULL;
            END $$;

CREATE FUNCTION public.keep_exports_on_delete() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
            DECLARE
                touched bigint := (SELECT count(*) FROM old_rows);
            BEGIN
                IF touched > 2 * list_stride() AND is_bulk('exports', touched) AND take_list('exports') THEN
                    PERFORM recount_list('exports', '{}');
                    RETURN NULL;
                END IF;
                INSERT INTO list_changes (list, key, facets, rows) SELECT 'exports', list_key, jsonb_strip_nulls(jsonb_build_object()), -1 FROM old_rows WHERE list_key IS NOT NULL;
                GET DIAGNOSTICS touched = ROW_COUNT;
                IF touched > 0 AND currval('list_changes_number_seq') % list_patience() < touched THEN
                    PERFORM fold_lists();
                END IF;
                RETURN NULL;
            END $$;

CREATE FUNCTION public.keep_exports_on_insert() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
            DECLARE
                touched bigint := (SELECT count(*) FROM new_rows);
            BEGIN
                IF touched > 2 * list_stride() AND is_bulk('exports', touched) AND take_list('exports') THEN
                    PERFORM recount_list('exports', '{}');
                    RETURN NULL;
                END IF;
                INSERT INTO list_changes (list, key, facets, rows) SELECT 'exports', list_key, jsonb_strip_nulls(jsonb_build_object()), 1 FROM new_rows WHERE list_key IS NOT NULL;
                GET DIAGNOSTICS touched = ROW_COUNT;
                IF touched > 0 AND currval('list_changes_number_seq') % list_patience() < touched THEN
                    PERFORM fold_lists();
                END IF;
                RETURN NULL;
            END $$;

CREATE FUNCTION public.keep_exports_on_update() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
            DECLARE
                touched bigint := (SELECT count(*) FROM new_rows);
            BEGIN
                IF touched > 2 * list_stride() AND is_bulk('exports', touched) AND take_list('exports') THEN
                    PERFORM recount_list('exports', '{}');
                    RETURN NULL;
                END IF;
                INSERT INTO list_changes (list, key, facets, rows) SELECT 'exports', list_key, jsonb_strip_nulls(jsonb_build_object()), sum(rows) FROM (SELECT list_key, 1 AS rows FROM new_rows UNION ALL SELECT list_key, -1 FROM old_rows) AS changes
                 WHERE list_key IS NOT NULL GROUP BY list_key HAVING sum(rows) <> 0;
                GET DIAGNOSTICS touched = ROW_COUNT;
                IF touched > 0 AND currval('list_changes_number_seq') % list_patience() < touched THEN
                    PERFORM fold_lists();
                END IF;
                RETURN NULL;
            END $$;

CREATE FUNCTION public.keep_identities_on_delete() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
            DECLARE
                touched bigint := (SELECT count(*) FROM old_rows);
            BEGIN
                IF touched > 2 * list_stride() AND is_bulk('identities', touched) AND take_list('identities') THEN
                    PERFORM recount_list('identities', '{}');
                    RETURN NULL;
                END IF;
                INSERT INTO list_changes (list, key, facets, rows) SELECT 'identities', list_key, jsonb_strip_nulls(jsonb_build_object()), -1 FROM old_rows WHERE list_key IS NOT NULL;
                GET DIAGNOSTICS touched = ROW_COUNT;
                IF touched > 0 AND currval('list_changes_number_seq') % list_patience() < touched THEN
                    PERFORM fold_lists();
                END IF;
                RETURN NULL;
            END $$;

CREATE FUNCTION public.keep_identities_on_insert() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
            DECLARE
                touched bigint := (SELECT count(*) FROM new_rows);
            BEGIN
                IF touched > 2 * list_stride() AND is_bulk('identities', touched) AND take_list('identities') THEN
                    PERFORM recount_list('identities', '{}');
                    RETURN NULL;
                END IF;
                INSERT INTO list_changes (list, key, facets, rows) SELECT 'identities', list_key, jsonb_strip_nulls(jsonb_build_object()), 1 FROM new_rows WHERE list_key IS NOT NULL;
                GET DIAGNOSTICS touched = ROW_COUNT;
                IF touched > 0 AND currval('list_changes_number_seq') % list_patience() < touched THEN
                    PERFORM fold_lists();
                END IF;
                RETURN NULL;
            END $$;

CREATE FUNCTION public.keep_identities_on_update() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
            DECLARE
                touched bigint := (SELECT count(*) FROM new_rows);
            BEGIN
                IF touched > 2 * list_stride() AND is_bulk('identities', touched) AND take_list('identities') THEN
                    PERFORM recount_list('identities', '{}');
                    RETURN NULL;
                END IF;
                INSERT INTO list_changes (list, key, facets, rows) SELECT 'identities', list_key, jsonb_strip_nulls(jsonb_build_object()), sum(rows) FROM (SELECT list_key, 1 AS rows FROM new_rows UNION ALL SELECT list_key, -1 FROM old_rows) AS changes
                 WHERE list_key IS NOT NULL GROUP BY list_key HAVING sum(rows) <> 0;
                GET DIAGNOSTICS touched = ROW_COUNT;
                IF touched > 0 AND currval('list_changes_number_seq') % list_patience() < touched THEN
                    PERFORM fold_lists();
                END IF;
                RETURN NULL;
            END $$;

CREATE PROCEDURE public.keep_list(IN list regclass, VARIADIC columns text[] DEFAULT '{}'::text[])
    LANGUAGE plpgsql
    AS $_$
DECLARE
    names text := (SELECT string_agg(quote_ident(c), ', ') FROM unnest('list_key'::text || columns) AS c);
    facets text := format('jsonb_strip_nulls(jsonb_build_object(%s))', (SELECT string_agg(format('%L, %I', c, c), ', ') FROM unnest(columns) AS c));
    transition record;
BEGIN
    FOR transition IN
        SELECT * FROM (VALUES
            ('insert', 'NEW TABLE AS new_rows', 'new_rows', format('%s, 1 FROM new_rows WHERE list_key IS NOT NULL', facets)),
            ('delete', 'OLD TABLE AS old_rows', 'old_rows', format('%s, -1 FROM old_rows WHERE list_key IS NOT NULL', facets)),
            ('update', 'NEW TABLE AS new_rows OLD TABLE AS old_rows', 'new_rows', format(
                '%1$s, sum(rows) FROM (SELECT %2$s, 1 AS rows FROM new_rows UNION ALL SELECT %2$s, -1 FROM old_rows) AS changes
                 WHERE list_key IS NOT NULL GROUP BY %2$s HAVING sum(rows) <> 0', facets, names))
        ) AS t (event, tables, touched, changes)
    LOOP
        EXECUTE format($sql$
            CREATE OR REPLACE FUNCTION keep_%1$s_on_%2$s() RETURNS trigger LANGUAGE plpgsql AS $keep$
            DECLARE
                touched bigint := (SELECT count(*) FROM %4$s);
            BEGIN
                IF touched > 2 * list_stride() AND is_bulk(%1$L, touched) AND take_list(%1$L) THEN
                    PERFORM recount_list(%1$L, %6$L);
                    RETURN NULL;
                END IF;
                INSERT INTO list_changes (list, key, facets, rows) SELECT %1$L, list_key, %5$s;
                GET DIAGNOSTICS touched = ROW_COUNT;
                IF touched > 0 AND currval('list_changes_number_seq') %% list_patience() < touched THEN
                    PERFORM fold_lists();
                END IF;
                RETURN NULL;
            END $keep$;
            CREATE OR REPLACE TRIGGER keep_list_on_%2$s AFTER %2$s ON %1$s REFERENCING %3$s FOR EACH STATEMENT EXECUTE FUNCTION keep_%1$s_on_%2$s();
        $sql$, list, transition.event, transition.tables, transition.touched, transition.changes, columns);
    END LOOP;
    EXECUTE format('CREATE OR REPLACE TRIGGER keep_list_on_truncate AFTER TRUNCATE ON %s FOR EACH STATEMENT EXECUTE FUNCTION empty_list()', list);
    IF NOT EXISTS (SELECT FROM lists l WHERE l.name = list::text AND l.facets = columns) THEN
        -- Wait for a transaction that folds: it would write the places of keys that are replaced here.
        PERFORM pg_advisory_xact_lock(hashtext('list'), hashtext(list::text));
        PERFORM recount_list(list::text, columns);
        INSERT INTO lists (name, facets) VALUES (list::text, columns) ON CONFLICT (name) DO UPDATE SET facets = EXCLUDED.facets;
    END IF;
END $_$;

CREATE FUNCTION public.keep_notification_messages_on_delete() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
            DECLARE
                touched bigint := (SELECT count(*) FROM old_rows);
            BEGIN
                IF touched > 2 * list_stride() AND is_bulk('notification_messages', touched) AND take_list('notification_messages') THEN
                    PERFORM recount_list('notification_messages', '{outcome}');
                    RETURN NULL;
                END IF;
                INSERT INTO list_changes (list, key, facets, rows) SELECT 'notification_messages', list_key, jsonb_strip_nulls(jsonb_build_object('outcome', outcome)), -1 FROM old_rows WHERE list_key IS NOT NULL;
                GET DIAGNOSTICS touched = ROW_COUNT;
                IF touched > 0 AND currval('list_changes_number_seq') % list_patience() < touched THEN
                    PERFORM fold_lists();
                END IF;
                RETURN NULL;
            END $$;

CREATE FUNCTION public.keep_notification_messages_on_insert() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
            DECLARE
                touched bigint := (SELECT count(*) FROM new_rows);
            BEGIN
                IF touched > 2 * list_stride() AND is_bulk('notification_messages', touched) AND take_list('notification_messages') THEN
                    PERFORM recount_list('notification_messages', '{outcome}');
                    RETURN NULL;
                END IF;
                INSERT INTO list_changes (list, key, facets, rows) SELECT 'notification_messages', list_key, jsonb_strip_nulls(jsonb_build_object('outcome', outcome)), 1 FROM new_rows WHERE list_key IS NOT NULL;
                GET DIAGNOSTICS touched = ROW_COUNT;
                IF touched > 0 AND currval('list_changes_number_seq') % list_patience() < touched THEN
                    PERFORM fold_lists();
                END IF;
                RETURN NULL;
            END $$;

CREATE FUNCTION public.keep_notification_messages_on_update() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
            DECLARE
                touched bigint := (SELECT count(*) FROM new_rows);
            BEGIN
                IF touched > 2 * list_stride() AND is_bulk('notification_messages', touched) AND take_list('notification_messages') THEN
                    PERFORM recount_list('notification_messages', '{outcome}');
                    RETURN NULL;
                END IF;
                INSERT INTO list_changes (list, key, facets, rows) SELECT 'notification_messages', list_key, jsonb_strip_nulls(jsonb_build_object('outcome', outcome)), sum(rows) FROM (SELECT list_key, outcome, 1 AS rows FROM new_rows UNION ALL SELECT list_key, outcome, -1 FROM old_rows) AS changes
                 WHERE list_key IS NOT NULL GROUP BY list_key, outcome HAVING sum(rows) <> 0;
                GET DIAGNOSTICS touched = ROW_COUNT;
                IF touched > 0 AND currval('list_changes_number_seq') % list_patience() < touched THEN
                    PERFORM fold_lists();
                END IF;
                RETURN NULL;
            END $$;

CREATE FUNCTION public.keep_notifications_on_delete() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
            DECLARE
                touched bigint := (SELECT count(*) FROM old_rows);
            BEGIN
                IF touched > 2 * list_stride() AND is_bulk('notifications', touched) AND take_list('notifications') THEN
                    PERFORM recount_list('notifications', '{identity_id,is_read}');
                    RETURN NULL;
                END IF;
                INSERT INTO list_changes (list, key, facets, rows) SELECT 'notifications', list_key, jsonb_strip_nulls(jsonb_build_object('identity_id', identity_id, 'is_read', is_read)), -1 FROM old_rows WHERE list_key IS NOT NULL;
                GET DIAGNOSTICS touched = ROW_COUNT;
                IF touched > 0 AND currval('list_changes_number_seq') % list_patience() < touched THEN
                    PERFORM fold_lists();
                END IF;
                RETURN NULL;
            END $$;

CREATE FUNCTION public.keep_notifications_on_insert() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
            DECLARE
                touched bigint := (SELECT count(*) FROM new_rows);
            BEGIN
                IF touched > 2 * list_stride() AND is_bulk('notifications', touched) AND take_list('notifications') THEN
                    PERFORM recount_list('notifications', '{identity_id,is_read}');
                    RETURN NULL;
                END IF;
                INSERT INTO list_changes (list, key, facets, rows) SELECT 'notifications', list_key, jsonb_strip_nulls(jsonb_build_object('identity_id', identity_id, 'is_read', is_read)), 1 FROM new_rows WHERE list_key IS NOT NULL;
                GET DIAGNOSTICS touched = ROW_COUNT;
                IF touched > 0 AND currval('list_changes_number_seq') % list_patience() < touched THEN
                    PERFORM fold_lists();
                END IF;
                RETURN NULL;
            END $$;

CREATE FUNCTION public.keep_notifications_on_update() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
            DECLARE
                touched bigint := (SELECT count(*) FROM new_rows);
            BEGIN
                IF touched > 2 * list_stride() AND is_bulk('notifications', touched) AND take_list('notifications') THEN
                    PERFORM recount_list('notifications', '{identity_id,is_read}');
                    RETURN NULL;
                END IF;
                INSERT INTO list_changes (list, key, facets, rows) SELECT 'notifications', list_key, jsonb_strip_nulls(jsonb_build_object('identity_id', identity_id, 'is_read', is_read)), sum(rows) FROM (SELECT list_key, identity_id, is_read, 1 AS rows FROM new_rows UNION ALL SELECT list_key, identity_id, is_read, -1 FROM old_rows) AS changes
                 WHERE list_key IS NOT NULL GROUP BY list_key, identity_id, is_read HAVING sum(rows) <> 0;
                GET DIAGNOSTICS touched = ROW_COUNT;
                IF touched > 0 AND currval('list_changes_number_seq') % list_patience() < touched THEN
                    PERFORM fold_lists();
                END IF;
                RETURN NULL;
            END $$;

CREATE FUNCTION public.keep_past_matches() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    -- One statement matches at one moment.
    moment timestamptz := (SELECT max(matched_on) FROM new_rows);
BEGIN
    IF NOT EXISTS (SELECT FROM old_rows WHERE identity_id IS NOT NULL) THEN
        RETURN NULL;
    END IF;
    INSERT INTO past_matches AS p (account_number, identity_id, since, until)
    -- Differences of sets, not a join: linear whatever plan a session kept.
    SELECT number, identity_id, matched_on, moment FROM (
        SELECT number, identity_id, matched_on FROM old_rows WHERE identity_id IS NOT NULL
        EXCEPT SELECT number, identity_id, matched_on FROM new_rows) AS ended
    WHERE matched_on < moment
    ON CONFLICT (account_number, since) DO UPDATE SET until = greatest(p.until, EXCLUDED.until);
    RETURN NULL;
END $$;

CREATE FUNCTION public.keep_past_model_members() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    moment timestamptz := written_on();
BEGIN
    INSERT INTO past_model_members AS p (identity_id, model_id, since, until)
    SELECT identity_id, model_id, since, moment FROM old_rows WHERE since < moment
    ON CONFLICT (identity_id, model_id, since) DO UPDATE SET until = greatest(p.until, EXCLUDED.until);
    RETURN NULL;
END $$;

CREATE FUNCTION public.keep_past_resolutions() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    fulfilled CONSTANT text[] := '{Resolved,Completed}';
    moment timestamptz := (SELECT max(status_since) FROM new_rows);
BEGIN
    IF NOT EXISTS (SELECT FROM old_rows WHERE status = 'Resolved') THEN
        RETURN NULL;
    END IF;
    INSERT INTO past_resolutions AS p (request_id, since, until)
    SELECT id, resolved_on, moment FROM (
        SELECT id, resolved_on FROM old_rows WHERE status = ANY (fulfilled)
        EXCEPT SELECT id, resolved_on FROM new_rows WHERE status = ANY (fulfilled)) AS ended
    WHERE resolved_on < moment
    ON CONFLICT (request_id, since) DO UPDATE SET until = greatest(p.until, EXCLUDED.until);
    RETURN NULL;
END $$;

CREATE FUNCTION public.keep_personnel_events_on_delete() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
            DECLARE
                touched bigint := (SELECT count(*) FROM old_rows);
            BEGIN
                IF touched > 2 * list_stride() AND is_bulk('personnel_events', touched) AND take_list('personnel_events') THEN
                    PERFORM recount_list('personnel_events', '{type,status}');
                    RETURN NULL;
                END IF;
                INSERT INTO list_changes (list, key, facets, rows) SELECT 'personnel_events', list_key, jsonb_strip_nulls(jsonb_build_object('type', type, 'status', status)), -1 FROM old_rows WHERE list_key IS NOT NULL;
                GET DIAGNOSTICS touched = ROW_COUNT;
                IF touched > 0 AND currval('list_changes_number_seq') % list_patience() < touched THEN
                    PERFORM fold_lists();
                END IF;
                RETURN NULL;
            END $$;

CREATE FUNCTION public.keep_personnel_events_on_insert() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
            DECLARE
                touched bigint := (SELECT count(*) FROM new_rows);
            BEGIN
                IF touched > 2 * list_stride() AND is_bulk('personnel_events', touched) AND take_list('personnel_events') THEN
                    PERFORM recount_list('personnel_events', '{type,status}');
                    RETURN NULL;
                END IF;
                INSERT INTO list_changes (list, key, facets, rows) SELECT 'personnel_events', list_key, jsonb_strip_nulls(jsonb_build_object('type', type, 'status', status)), 1 FROM new_rows WHERE list_key IS NOT NULL;
                GET DIAGNOSTICS touched = ROW_COUNT;
                IF touched > 0 AND currval('list_changes_number_seq') % list_patience() < touched THEN
                    PERFORM fold_lists();
                END IF;
                RETURN NULL;
            END $$;

CREATE FUNCTION public.keep_personnel_events_on_update() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
            DECLARE
                touched bigint := (SELECT count(*) FROM new_rows);
            BEGIN
                IF touched > 2 * list_stride() AND is_bulk('personnel_events', touched) AND take_list('personnel_events') THEN
                    PERFORM recount_list('personnel_events', '{type,status}');
                    RETURN NULL;
                END IF;
                INSERT INTO list_changes (list, key, facets, rows) SELECT 'personnel_events', list_key, jsonb_strip_nulls(jsonb_build_object('type', type, 'status', status)), sum(rows) FROM (SELECT list_key, type, status, 1 AS rows FROM new_rows UNION ALL SELECT list_key, type, status, -1 FROM old_rows) AS changes
                 WHERE list_key IS NOT NULL GROUP BY list_key, type, status HAVING sum(rows) <> 0;
                GET DIAGNOSTICS touched = ROW_COUNT;
                IF touched > 0 AND currval('list_changes_number_seq') % list_patience() < touched THEN
                    PERFORM fold_lists();
                END IF;
                RETURN NULL;
            END $$;

CREATE FUNCTION public.keep_waiting_requests() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    waiting CONSTANT text[] := awaited_statuses();
BEGIN
    IF TG_OP = 'UPDATE' THEN
        -- By an array, not a join: a session keeps the plan of its first update, which may have had thousands of rows.
        DELETE FROM waiting_requests WHERE request_id = ANY (ARRAY(
            SELECT id FROM (SELECT id, status_since FROM old_rows WHERE status = ANY (waiting)
                            EXCEPT SELECT id, status_since FROM new_rows WHERE status = ANY (waiting)) AS moved));
    END IF;
    INSERT INTO waiting_requests (request_id, list_key)
    SELECT id, time_key(status_since, number) FROM new_rows WHERE status = ANY (waiting)
    ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;

CREATE FUNCTION public.keep_waiting_requests_on_delete() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
            DECLARE
                touched bigint := (SELECT count(*) FROM old_rows);
            BEGIN
                IF touched > 2 * list_stride() AND is_bulk('waiting_requests', touched) AND take_list('waiting_requests') THEN
                    PERFORM recount_list('waiting_requests', '{}');
                    RETURN NULL;
                END IF;
                INSERT INTO list_changes (list, key, facets, rows) SELECT 'waiting_requests', list_key, jsonb_strip_nulls(jsonb_build_object()), -1 FROM old_rows WHERE list_key IS NOT NULL;
                GET DIAGNOSTICS touched = ROW_COUNT;
                IF touched > 0 AND currval('list_changes_number_seq') % list_patience() < touched THEN
                    PERFORM fold_lists();
                END IF;
                RETURN NULL;
            END $$;

CREATE FUNCTION public.keep_waiting_requests_on_insert() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
            DECLARE
                touched bigint := (SELECT count(*) FROM new_rows);
            BEGIN
                IF touched > 2 * list_stride() AND is_bulk('waiting_requests', touched) AND take_list('waiting_requests') THEN
                    PERFORM recount_list('waiting_requests', '{}');
                    RETURN NULL;
                END IF;
                INSERT INTO list_changes (list, key, facets, rows) SELECT 'waiting_requests', list_key, jsonb_strip_nulls(jsonb_build_object()), 1 FROM new_rows WHERE list_key IS NOT NULL;
                GET DIAGNOSTICS touched = ROW_COUNT;
                IF touched > 0 AND currval('list_changes_number_seq') % list_patience() < touched THEN
                    PERFORM fold_lists();
                END IF;
                RETURN NULL;
            END $$;

CREATE FUNCTION public.keep_waiting_requests_on_update() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
            DECLARE
                touched bigint := (SELECT count(*) FROM new_rows);
            BEGIN
                IF touched > 2 * list_stride() AND is_bulk('waiting_requests', touched) AND take_list('waiting_requests') THEN
                    PERFORM recount_list('waiting_requests', '{}');
                    RETURN NULL;
                END IF;
                INSERT INTO list_changes (list, key, facets, rows) SELECT 'waiting_requests', list_key, jsonb_strip_nulls(jsonb_build_object()), sum(rows) FROM (SELECT list_key, 1 AS rows FROM new_rows UNION ALL SELECT list_key, -1 FROM old_rows) AS changes
                 WHERE list_key IS NOT NULL GROUP BY list_key HAVING sum(rows) <> 0;
                GET DIAGNOSTICS touched = ROW_COUNT;
                IF touched > 0 AND currval('list_changes_number_seq') % list_patience() < touched THEN
                    PERFORM fold_lists();
                END IF;
                RETURN NULL;
            END $$;

CREATE FUNCTION public.keep_webhook_deliveries_on_delete() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
            DECLARE
                touched bigint := (SELECT count(*) FROM old_rows);
            BEGIN
                IF touched > 2 * list_stride() AND is_bulk('webhook_deliveries', touched) AND take_list('webhook_deliveries') THEN
                    PERFORM recount_list('webhook_deliveries', '{webhook_id,status}');
                    RETURN NULL;
                END IF;
                INSERT INTO list_changes (list, key, facets, rows) SELECT 'webhook_deliveries', list_key, jsonb_strip_nulls(jsonb_build_object('webhook_id', webhook_id, 'status', status)), -1 FROM old_rows WHERE list_key IS NOT NULL;
                GET DIAGNOSTICS touched = ROW_COUNT;
                IF touched > 0 AND currval('list_changes_number_seq') % list_patience() < touched THEN
                    PERFORM fold_lists();
                END IF;
                RETURN NULL;
            END $$;

CREATE FUNCTION public.keep_webhook_deliveries_on_insert() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
            DECLARE
                touched bigint := (SELECT count(*) FROM new_rows);
            BEGIN
                IF touched > 2 * list_stride() AND is_bulk('webhook_deliveries', touched) AND take_list('webhook_deliveries') THEN
                    PERFORM recount_list('webhook_deliveries', '{webhook_id,status}');
                    RETURN NULL;
                END IF;
                INSERT INTO list_changes (list, key, facets, rows) SELECT 'webhook_deliveries', list_key, jsonb_strip_nulls(jsonb_build_object('webhook_id', webhook_id, 'status', status)), 1 FROM new_rows WHERE list_key IS NOT NULL;
                GET DIAGNOSTICS touched = ROW_COUNT;
                IF touched > 0 AND currval('list_changes_number_seq') % list_patience() < touched THEN
                    PERFORM fold_lists();
                END IF;
                RETURN NULL;
            END $$;

CREATE FUNCTION public.keep_webhook_deliveries_on_update() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
            DECLARE
                touched bigint := (SELECT count(*) FROM new_rows);
            BEGIN
                IF touched > 2 * list_stride() AND is_bulk('webhook_deliveries', touched) AND take_list('webhook_deliveries') THEN
                    PERFORM recount_list('webhook_deliveries', '{webhook_id,status}');
                    RETURN NULL;
                END IF;
                INSERT INTO list_changes (list, key, facets, rows) SELECT 'webhook_deliveries', list_key, jsonb_strip_nulls(jsonb_build_object('webhook_id', webhook_id, 'status', status)), sum(rows) FROM (SELECT list_key, webhook_id, status, 1 AS rows FROM new_rows UNION ALL SELECT list_key, webhook_id, status, -1 FROM old_rows) AS changes
                 WHERE list_key IS NOT NULL GROUP BY list_key, webhook_id, status HAVING sum(rows) <> 0;
                GET DIAGNOSTICS touched = ROW_COUNT;
                IF touched > 0 AND currval('list_changes_number_seq') % list_patience() < touched THEN
                    PERFORM fold_lists();
                END IF;
                RETURN NULL;
            END $$;

CREATE FUNCTION public.key_application_import() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    NEW.list_key := time_key(coalesce(NEW.build_start, NEW.build_end), NEW.number);
    RETURN NEW;
END $$;

CREATE FUNCTION public.known_risk(permission integer, membership integer) RETURNS text
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT rated.risk
    FROM ( SELECT COALESCE(c.risk_rating, v.risk_rating) AS risk
            FROM ((public.permission_versions v
              JOIN public.permissions p ON ((p.number = v.permission_number)))
              LEFT JOIN public.curations c ON ((c.entitlement_id = p.id)))
           WHERE ((v.permission_number = known_risk.permission) AND (v.until_import IS NULL))
         UNION ALL
          SELECT public.group_risk(v.group_number) AS group_risk
            FROM public.group_versions v
           WHERE ((v.group_number = known_risk.membership) AND (v.until_import IS NULL))) rated
   ORDER BY (public.risk_rank(rated.risk)) DESC
  LIMIT 1;
END;

CREATE FUNCTION public.list_patience() RETURNS integer
    LANGUAGE sql IMMUTABLE
    RETURN 256;

CREATE FUNCTION public.list_stride() RETURNS integer
    LANGUAGE sql IMMUTABLE
    RETURN 1000;

CREATE FUNCTION public.name_of(kind text, the_id uuid) RETURNS text
    LANGUAGE plpgsql STABLE
    AS $$
BEGIN
    -- One statement for each kind: PostgreSQL would prepare every part of a single expression.
    CASE kind
        WHEN 'Access Model' THEN RETURN (SELECT name FROM access_models WHERE id = the_id);
        WHEN 'Access Request' THEN RETURN (SELECT '#' || number FROM access_requests WHERE id = the_id);
        WHEN 'Account' THEN RETURN (SELECT username FROM accounts WHERE id = the_id);
        WHEN 'Application' THEN RETURN (SELECT name FROM applications WHERE id = the_id);
        WHEN 'Console User', 'Identity' THEN RETURN (SELECT concat_ws(' ', first_name, last_name) FROM identities WHERE id = the_id);
        WHEN 'Export' THEN RETURN (SELECT list FROM exports WHERE id = the_id);
        WHEN 'Import' THEN RETURN (SELECT '#' || number FROM application_imports WHERE id = the_id);
        WHEN 'Personnel Event' THEN RETURN (SELECT '#' || number FROM personnel_events WHERE id = the_id);
        WHEN 'Report' THEN RETURN (SELECT name FROM reports WHERE id = the_id);
        WHEN 'Token' THEN RETURN (SELECT name FROM tokens WHERE id = the_id);
        WHEN 'Webhook' THEN RETURN (SELECT name FROM webhooks WHERE id = the_id);
        WHEN 'Webhook Delivery' THEN RETURN (SELECT event FROM webhook_deliveries WHERE id = the_id);
        ELSE RETURN '';
    END CASE;
END $$;

CREATE FUNCTION public.note_access_models() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
        BEGIN
            IF 'access_models' = 'identities' AND is_bulk_change() THEN
                RETURN NULL;
            ELSIF TG_OP = 'INSERT' THEN
                PERFORM note_changes((SELECT string_agg(jsonb_build_object('kind', 'Access Model', 'id', r.id, 'part', '', 'is', to_jsonb(r) - '{id,name_key,changed_at,name}'::text[])::text, ',')
                                      FROM new_rows r WHERE r.id IS NOT NULL));
            ELSIF TG_OP = 'DELETE' THEN
                PERFORM note_changes((SELECT string_agg(jsonb_build_object('kind', 'Access Model', 'id', r.id, 'part', '', 'was', to_jsonb(r) - '{id,name_key,changed_at,name}'::text[])::text, ',')
                                      FROM old_rows r WHERE r.id IS NOT NULL));
            ELSE
                -- Differences of sets, not a join: linear whatever plan a session kept.
                PERFORM note_changes((SELECT string_agg(note::text, ',') FROM (
                    SELECT jsonb_build_object('kind', 'Access Model', 'id', r.id, 'part', '', 'was', to_jsonb(r) - '{id,name_key,changed_at,name}'::text[]) FROM old_rows r
                    EXCEPT SELECT jsonb_build_object('kind', 'Access Model', 'id', r.id, 'part', '', 'was', to_jsonb(r) - '{id,name_key,changed_at,name}'::text[]) FROM new_rows r) AS notes (note)));
                PERFORM note_changes((SELECT string_agg(note::text, ',') FROM (
                    SELECT jsonb_build_object('kind', 'Access Model', 'id', r.id, 'part', '', 'is', to_jsonb(r) - '{id,name_key,changed_at,name}'::text[]) FROM new_rows r
                    EXCEPT SELECT jsonb_build_object('kind', 'Access Model', 'id', r.id, 'part', '', 'is', to_jsonb(r) - '{id,name_key,changed_at,name}'::text[]) FROM old_rows r) AS notes (note)));
            END IF;
            RETURN NULL;
        END $$;

CREATE FUNCTION public.note_access_requests() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
        BEGIN
            IF 'access_requests' = 'identities' AND is_bulk_change() THEN
                RETURN NULL;
            ELSIF TG_OP = 'INSERT' THEN
                PERFORM note_changes((SELECT string_agg(jsonb_build_object('kind', 'Access Request', 'id', r.id, 'part', '', 'is', to_jsonb(r) - '{id,list_key,status_since}'::text[])::text, ',')
                                      FROM new_rows r WHERE r.id IS NOT NULL));
            ELSIF TG_OP = 'DELETE' THEN
                PERFORM note_changes((SELECT string_agg(jsonb_build_object('kind', 'Access Request', 'id', r.id, 'part', '', 'was', to_jsonb(r) - '{id,list_key,status_since}'::text[])::text, ',')
                                      FROM old_rows r WHERE r.id IS NOT NULL));
            ELSE
                -- Differences of sets, not a join: linear whatever plan a session kept.
                PERFORM note_changes((SELECT string_agg(note::text, ',') FROM (
                    SELECT jsonb_build_object('kind', 'Access Request', 'id', r.id, 'part', '', 'was', to_jsonb(r) - '{id,list_key,status_since}'::text[]) FROM old_rows r
                    EXCEPT SELECT jsonb_build_object('kind', 'Access Request', 'id', r.id, 'part', '', 'was', to_jsonb(r) - '{id,list_key,status_since}'::text[]) FROM new_rows r) AS notes (note)));
                PERFORM note_changes((SELECT string_agg(note::text, ',') FROM (
                    SELECT jsonb_build_object('kind', 'Access Request', 'id', r.id, 'part', '', 'is', to_jsonb(r) - '{id,list_key,status_since}'::text[]) FROM new_rows r
                    EXCEPT SELECT jsonb_build_object('kind', 'Access Request', 'id', r.id, 'part', '', 'is', to_jsonb(r) - '{id,list_key,status_since}'::text[]) FROM old_rows r) AS notes (note)));
            END IF;
            RETURN NULL;
        END $$;

CREATE FUNCTION public.note_application_imports() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
        BEGIN
            IF 'application_imports' = 'identities' AND is_bulk_change() THEN
                RETURN NULL;
            ELSIF TG_OP = 'INSERT' THEN
                PERFORM note_changes((SELECT string_agg(jsonb_build_object('kind', 'Import', 'id', r.id, 'part', '', 'is', to_jsonb(r) - '{id,list_key,supplied_by}'::text[])::text, ',')
                                      FROM new_rows r WHERE r.id IS NOT NULL));
            ELSIF TG_OP = 'DELETE' THEN
                PERFORM note_changes((SELECT string_agg(jsonb_build_object('kind', 'Import', 'id', r.id, 'part', '', 'was', to_jsonb(r) - '{id,list_key,supplied_by}'::text[])::text, ',')
                                      FROM old_rows r WHERE r.id IS NOT NULL));
            ELSE
                -- Differences of sets, not a join: linear whatever plan a session kept.
                PERFORM note_changes((SELECT string_agg(note::text, ',') FROM (
                    SELECT jsonb_build_object('kind', 'Import', 'id', r.id, 'part', '', 'was', to_jsonb(r) - '{id,list_key,supplied_by}'::text[]) FROM old_rows r
                    EXCEPT SELECT jsonb_build_object('kind', 'Import', 'id', r.id, 'part', '', 'was', to_jsonb(r) - '{id,list_key,supplied_by}'::text[]) FROM new_rows r) AS notes (note)));
                PERFORM note_changes((SELECT string_agg(note::text, ',') FROM (
                    SELECT jsonb_build_object('kind', 'Import', 'id', r.id, 'part', '', 'is', to_jsonb(r) - '{id,list_key,supplied_by}'::text[]) FROM new_rows r
                    EXCEPT SELECT jsonb_build_object('kind', 'Import', 'id', r.id, 'part', '', 'is', to_jsonb(r) - '{id,list_key,supplied_by}'::text[]) FROM old_rows r) AS notes (note)));
            END IF;
            RETURN NULL;
        END $$;

CREATE FUNCTION public.note_applications() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
        BEGIN
            IF 'applications' = 'identities' AND is_bulk_change() THEN
                RETURN NULL;
            ELSIF TG_OP = 'INSERT' THEN
                PERFORM note_changes((SELECT string_agg(jsonb_build_object('kind', 'Application', 'id', r.id, 'part', '', 'is', to_jsonb(r) - '{id,name_key,list_key}'::text[])::text, ',')
                                      FROM new_rows r WHERE r.id IS NOT NULL));
            ELSIF TG_OP = 'DELETE' THEN
                PERFORM note_changes((SELECT string_agg(jsonb_build_object('kind', 'Application', 'id', r.id, 'part', '', 'was', to_jsonb(r) - '{id,name_key,list_key}'::text[])::text, ',')
                                      FROM old_rows r WHERE r.id IS NOT NULL));
            ELSE
                -- Differences of sets, not a join: linear whatever plan a session kept.
                PERFORM note_changes((SELECT string_agg(note::text, ',') FROM (
                    SELECT jsonb_build_object('kind', 'Application', 'id', r.id, 'part', '', 'was', to_jsonb(r) - '{id,name_key,list_key}'::text[]) FROM old_rows r
                    EXCEPT SELECT jsonb_build_object('kind', 'Application', 'id', r.id, 'part', '', 'was', to_jsonb(r) - '{id,name_key,list_key}'::text[]) FROM new_rows r) AS notes (note)));
                PERFORM note_changes((SELECT string_agg(note::text, ',') FROM (
                    SELECT jsonb_build_object('kind', 'Application', 'id', r.id, 'part', '', 'is', to_jsonb(r) - '{id,name_key,list_key}'::text[]) FROM new_rows r
                    EXCEPT SELECT jsonb_build_object('kind', 'Application', 'id', r.id, 'part', '', 'is', to_jsonb(r) - '{id,name_key,list_key}'::text[]) FROM old_rows r) AS notes (note)));
            END IF;
            RETURN NULL;
        END $$;

CREATE FUNCTION public.note_changes(notes text) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    noted text := coalesce(current_setting('rolecall.notes', true), '');
BEGIN
    IF notes IS NULL THEN
        RETURN;
    END IF;
    -- A transaction that changes very much chains its notes in parts.
    IF length(noted) > 32 * 1024 * 1024 THEN
        PERFORM chain_notes();
        noted := '';
    END IF;
    IF noted = '' THEN
        INSERT INTO audit_pending DEFAULT VALUES;
    END IF;
    PERFORM set_config('rolecall.notes', concat_ws(',', nullif(noted, ''), notes), true);
END $$;

CREATE FUNCTION public.note_comments() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
        BEGIN
            IF 'comments' = 'identities' AND is_bulk_change() THEN
                RETURN NULL;
            ELSIF TG_OP = 'INSERT' THEN
                PERFORM note_changes((SELECT string_agg(jsonb_build_object('kind', CASE WHEN EXISTS (SELECT FROM access_requests a WHERE a.id = r.item_id) THEN 'Access Request' ELSE 'Personnel Event' END, 'id', r.item_id, 'part', 'comments.' || r.number, 'is', jsonb_build_object('author', r.author, 'content', r.content))::text, ',')
                                      FROM new_rows r WHERE r.item_id IS NOT NULL));
            ELSIF TG_OP = 'DELETE' THEN
                PERFORM note_changes((SELECT string_agg(jsonb_build_object('kind', CASE WHEN EXISTS (SELECT FROM access_requests a WHERE a.id = r.item_id) THEN 'Access Request' ELSE 'Personnel Event' END, 'id', r.item_id, 'part', 'comments.' || r.number, 'was', jsonb_build_object('author', r.author, 'content', r.content))::text, ',')
                                      FROM old_rows r WHERE r.item_id IS NOT NULL));
            ELSE
                -- Differences of sets, not a join: linear whatever plan a session kept.
                PERFORM note_changes((SELECT string_agg(note::text, ',') FROM (
                    SELECT jsonb_build_object('kind', CASE WHEN EXISTS (SELECT FROM access_requests a WHERE a.id = r.item_id) THEN 'Access Request' ELSE 'Personnel Event' END, 'id', r.item_id, 'part', 'comments.' || r.number, 'was', jsonb_build_object('author', r.author, 'content', r.content)) FROM old_rows r
                    EXCEPT SELECT jsonb_build_object('kind', CASE WHEN EXISTS (SELECT FROM access_requests a WHERE a.id = r.item_id) THEN 'Access Request' ELSE 'Personnel Event' END, 'id', r.item_id, 'part', 'comments.' || r.number, 'was', jsonb_build_object('author', r.author, 'content', r.content)) FROM new_rows r) AS notes (note)));
                PERFORM note_changes((SELECT string_agg(note::text, ',') FROM (
                    SELECT jsonb_build_object('kind', CASE WHEN EXISTS (SELECT FROM access_requests a WHERE a.id = r.item_id) THEN 'Access Request' ELSE 'Personnel Event' END, 'id', r.item_id, 'part', 'comments.' || r.number, 'is', jsonb_build_object('author', r.author, 'content', r.content)) FROM new_rows r
                    EXCEPT SELECT jsonb_build_object('kind', CASE WHEN EXISTS (SELECT FROM access_requests a WHERE a.id = r.item_id) THEN 'Access Request' ELSE 'Personnel Event' END, 'id', r.item_id, 'part', 'comments.' || r.number, 'is', jsonb_build_object('author', r.author, 'content', r.content)) FROM old_rows r) AS notes (note)));
            END IF;
            RETURN NULL;
        END $$;

CREATE FUNCTION public.note_connectors() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
        BEGIN
            IF 'connectors' = 'identities' AND is_bulk_change() THEN
                RETURN NULL;
            ELSIF TG_OP = 'INSERT' THEN
                PERFORM note_changes((SELECT string_agg(jsonb_build_object('kind', 'Application', 'id', r.application_id, 'part', 'connector', 'is', to_jsonb(r) - '{id,application_id}'::text[])::text, ',')
                                      FROM new_rows r WHERE r.application_id IS NOT NULL));
            ELSIF TG_OP = 'DELETE' THEN
                PERFORM note_changes((SELECT string_agg(jsonb_build_object('kind', 'Application', 'id', r.application_id, 'part', 'connector', 'was', to_jsonb(r) - '{id,application_id}'::text[])::text, ',')
                                      FROM old_rows r WHERE r.application_id IS NOT NULL));
            ELSE
                -- Differences of sets, not a join: linear whatever plan a session kept.
                PERFORM note_changes((SELECT string_agg(note::text, ',') FROM (
                    SELECT jsonb_build_object('kind', 'Application', 'id', r.application_id, 'part', 'connector', 'was', to_jsonb(r) - '{id,application_id}'::text[]) FROM old_rows r
                    EXCEPT SELECT jsonb_build_object('kind', 'Application', 'id', r.application_id, 'part', 'connector', 'was', to_jsonb(r) - '{id,application_id}'::text[]) FROM new_rows r) AS notes (note)));
                PERFORM note_changes((SELECT string_agg(note::text, ',') FROM (
                    SELECT jsonb_build_object('kind', 'Application', 'id', r.application_id, 'part', 'connector', 'is', to_jsonb(r) - '{id,application_id}'::text[]) FROM new_rows r
                    EXCEPT SELECT jsonb_build_object('kind', 'Application', 'id', r.application_id, 'part', 'connector', 'is', to_jsonb(r) - '{id,application_id}'::text[]) FROM old_rows r) AS notes (note)));
            END IF;
            RETURN NULL;
        END $$;

CREATE FUNCTION public.note_console_passwords() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
        BEGIN
            IF 'console_passwords' = 'identities' AND is_bulk_change() THEN
                RETURN NULL;
            ELSIF TG_OP = 'INSERT' THEN
                PERFORM note_changes((SELECT string_agg(jsonb_build_object('kind', 'Console User', 'id', r.identity_id, 'part', 'password', 'is', jsonb_build_object('setAt', r.set_at))::text, ',')
                                      FROM new_rows r WHERE r.identity_id IS NOT NULL));
            ELSIF TG_OP = 'DELETE' THEN
                PERFORM note_changes((SELECT string_agg(jsonb_build_object('kind', 'Console User', 'id', r.identity_id, 'part', 'password', 'was', jsonb_build_object('setAt', r.set_at))::text, ',')
                                      FROM old_rows r WHERE r.identity_id IS NOT NULL));
            ELSE
                -- Differences of sets, not a join: linear whatever plan a session kept.
                PERFORM note_changes((SELECT string_agg(note::text, ',') FROM (
                    SELECT jsonb_build_object('kind', 'Console User', 'id', r.identity_id, 'part', 'password', 'was', jsonb_build_object('setAt', r.set_at)) FROM old_rows r
                    EXCEPT SELECT jsonb_build_object('kind', 'Console User', 'id', r.identity_id, 'part', 'password', 'was', jsonb_build_object('setAt', r.set_at)) FROM new_rows r) AS notes (note)));
                PERFORM note_changes((SELECT string_agg(note::text, ',') FROM (
                    SELECT jsonb_build_object('kind', 'Console User', 'id', r.identity_id, 'part', 'password', 'is', jsonb_build_object('setAt', r.set_at)) FROM new_rows r
                    EXCEPT SELECT jsonb_build_object('kind', 'Console User', 'id', r.identity_id, 'part', 'password', 'is', jsonb_build_object('setAt', r.set_at)) FROM old_rows r) AS notes (note)));
            END IF;
            RETURN NULL;
        END $$;

CREATE FUNCTION public.note_console_roles() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
        BEGIN
            IF 'console_roles' = 'identities' AND is_bulk_change() THEN
                RETURN NULL;
            ELSIF TG_OP = 'INSERT' THEN
                PERFORM note_changes((SELECT string_agg(jsonb_build_object('kind', 'Console User', 'id', r.identity_id, 'part', '', 'is', jsonb_build_object('role', r.role, 'email', r.email))::text, ',')
                                      FROM new_rows r WHERE r.identity_id IS NOT NULL));
            ELSIF TG_OP = 'DELETE' THEN
                PERFORM note_changes((SELECT string_agg(jsonb_build_object('kind', 'Console User', 'id', r.identity_id, 'part', '', 'was', jsonb_build_object('role', r.role, 'email', r.email))::text, ',')
                                      FROM old_rows r WHERE r.identity_id IS NOT NULL));
            ELSE
                -- Differences of sets, not a join: linear whatever plan a session kept.
                PERFORM note_changes((SELECT string_agg(note::text, ',') FROM (
                    SELECT jsonb_build_object('kind', 'Console User', 'id', r.identity_id, 'part', '', 'was', jsonb_build_object('role', r.role, 'email', r.email)) FROM old_rows r
                    EXCEPT SELECT jsonb_build_object('kind', 'Console User', 'id', r.identity_id, 'part', '', 'was', jsonb_build_object('role', r.role, 'email', r.email)) FROM new_rows r) AS notes (note)));
                PERFORM note_changes((SELECT string_agg(note::text, ',') FROM (
                    SELECT jsonb_build_object('kind', 'Console User', 'id', r.identity_id, 'part', '', 'is', jsonb_build_object('role', r.role, 'email', r.email)) FROM new_rows r
                    EXCEPT SELECT jsonb_build_object('kind', 'Console User', 'id', r.identity_id, 'part', '', 'is', jsonb_build_object('role', r.role, 'email', r.email)) FROM old_rows r) AS notes (note)));
            END IF;
            RETURN NULL;
        END $$;

CREATE FUNCTION public.note_console_sessions() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
        BEGIN
            IF 'console_sessions' = 'identities' AND is_bulk_change() THEN
                RETURN NULL;
            ELSIF TG_OP = 'INSERT' THEN
                PERFORM note_changes((SELECT string_agg(jsonb_build_object('kind', 'Console User', 'id', r.identity_id, 'part', 'session', 'is', jsonb_build_object('createdAt', r.created_at))::text, ',')
                                      FROM new_rows r WHERE r.identity_id IS NOT NULL));
            ELSIF TG_OP = 'DELETE' THEN
                PERFORM note_changes((SELECT string_agg(jsonb_build_object('kind', 'Console User', 'id', r.identity_id, 'part', 'session', 'was', jsonb_build_object('createdAt', r.created_at))::text, ',')
                                      FROM old_rows r WHERE r.identity_id IS NOT NULL));
            ELSE
                -- Differences of sets, not a join: linear whatever plan a session kept.
                PERFORM note_changes((SELECT string_agg(note::text, ',') FROM (
                    SELECT jsonb_build_object('kind', 'Console User', 'id', r.identity_id, 'part', 'session', 'was', jsonb_build_object('createdAt', r.created_at)) FROM old_rows r
                    EXCEPT SELECT jsonb_build_object('kind', 'Console User', 'id', r.identity_id, 'part', 'session', 'was', jsonb_build_object('createdAt', r.created_at)) FROM new_rows r) AS notes (note)));
                PERFORM note_changes((SELECT string_agg(note::text, ',') FROM (
                    SELECT jsonb_build_object('kind', 'Console User', 'id', r.identity_id, 'part', 'session', 'is', jsonb_build_object('createdAt', r.created_at)) FROM new_rows r
                    EXCEPT SELECT jsonb_build_object('kind', 'Console User', 'id', r.identity_id, 'part', 'session', 'is', jsonb_build_object('createdAt', r.created_at)) FROM old_rows r) AS notes (note)));
            END IF;
            RETURN NULL;
        END $$;

CREATE FUNCTION public.note_curations() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
        BEGIN
            IF 'curations' = 'identities' AND is_bulk_change() THEN
                RETURN NULL;
            ELSIF TG_OP = 'INSERT' THEN
                PERFORM note_changes((SELECT string_agg(jsonb_build_object('kind', 'Entitlement', 'id', r.entitlement_id, 'part', '', 'is', to_jsonb(r) - '{entitlement_id,changed_on}'::text[])::text, ',')
                                      FROM new_rows r WHERE r.entitlement_id IS NOT NULL));
            ELSIF TG_OP = 'DELETE' THEN
                PERFORM note_changes((SELECT string_agg(jsonb_build_object('kind', 'Entitlement', 'id', r.entitlement_id, 'part', '', 'was', to_jsonb(r) - '{entitlement_id,changed_on}'::text[])::text, ',')
                                      FROM old_rows r WHERE r.entitlement_id IS NOT NULL));
            ELSE
                -- Differences of sets, not a join: linear whatever plan a session kept.
                PERFORM note_changes((SELECT string_agg(note::text, ',') FROM (
                    SELECT jsonb_build_object('kind', 'Entitlement', 'id', r.entitlement_id, 'part', '', 'was', to_jsonb(r) - '{entitlement_id,changed_on}'::text[]) FROM old_rows r
                    EXCEPT SELECT jsonb_build_object('kind', 'Entitlement', 'id', r.entitlement_id, 'part', '', 'was', to_jsonb(r) - '{entitlement_id,changed_on}'::text[]) FROM new_rows r) AS notes (note)));
                PERFORM note_changes((SELECT string_agg(note::text, ',') FROM (
                    SELECT jsonb_build_object('kind', 'Entitlement', 'id', r.entitlement_id, 'part', '', 'is', to_jsonb(r) - '{entitlement_id,changed_on}'::text[]) FROM new_rows r
                    EXCEPT SELECT jsonb_build_object('kind', 'Entitlement', 'id', r.entitlement_id, 'part', '', 'is', to_jsonb(r) - '{entitlement_id,changed_on}'::text[]) FROM old_rows r) AS notes (note)));
            END IF;
            RETURN NULL;
        END $$;

CREATE FUNCTION public.note_event_news() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO event_news (event_id, caller_id, caller_name)
    SELECT DISTINCT l.item_id, n.caller_id, n.caller_name
    FROM new_rows n JOIN related_items l ON l.request_id = n.request_id
    WHERE l.kind = 'Personnel Event'
      AND n.name IN ('AccessRequestApproved', 'AccessRequestResolved', 'AccessRequestCompleted', 'AccessRequestCanceled');
    IF FOUND THEN
        PERFORM pg_notify(personnel_events_channel(), '');
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION public.note_exports() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
        BEGIN
            IF 'exports' = 'identities' AND is_bulk_change() THEN
                RETURN NULL;
            ELSIF TG_OP = 'INSERT' THEN
                PERFORM note_changes((SELECT string_agg(jsonb_build_object('kind', 'Export', 'id', r.id, 'part', '', 'is', to_jsonb(r) - '{id,number,list_key,caller_id,caller_kind,caller_name,sha256}'::text[]
                || jsonb_build_object('sha256', encode(r.sha256, 'hex')))::text, ',')
                                      FROM new_rows r WHERE r.id IS NOT NULL));
            ELSIF TG_OP = 'DELETE' THEN
                PERFORM note_changes((SELECT string_agg(jsonb_build_object('kind', 'Export', 'id', r.id, 'part', '', 'was', to_jsonb(r) - '{id,number,list_key,caller_id,caller_kind,caller_name,sha256}'::text[]
                || jsonb_build_object('sha256', encode(r.sha256, 'hex')))::text, ',')
                                      FROM old_rows r WHERE r.id IS NOT NULL));
            ELSE
                -- Differences of sets, not a join: linear whatever plan a session kept.
                PERFORM note_changes((SELECT string_agg(note::text, ',') FROM (
                    SELECT jsonb_build_object('kind', 'Export', 'id', r.id, 'part', '', 'was', to_jsonb(r) - '{id,number,list_key,caller_id,caller_kind,caller_name,sha256}'::text[]
                || jsonb_build_object('sha256', encode(r.sha256, 'hex'))) FROM old_rows r
                    EXCEPT SELECT jsonb_build_object('kind', 'Export', 'id', r.id, 'part', '', 'was', to_jsonb(r) - '{id,number,list_key,caller_id,caller_kind,caller_name,sha256}'::text[]
                || jsonb_build_object('sha256', encode(r.sha256, 'hex'))) FROM new_rows r) AS notes (note)));
                PERFORM note_changes((SELECT string_agg(note::text, ',') FROM (
                    SELECT jsonb_build_object('kind', 'Export', 'id', r.id, 'part', '', 'is', to_jsonb(r) - '{id,number,list_key,caller_id,caller_kind,caller_name,sha256}'::text[]
                || jsonb_build_object('sha256', encode(r.sha256, 'hex'))) FROM new_rows r
                    EXCEPT SELECT jsonb_build_object('kind', 'Export', 'id', r.id, 'part', '', 'is', to_jsonb(r) - '{id,number,list_key,caller_id,caller_kind,caller_name,sha256}'::text[]
                || jsonb_build_object('sha256', encode(r.sha256, 'hex'))) FROM old_rows r) AS notes (note)));
            END IF;
            RETURN NULL;
        END $$;

CREATE FUNCTION public.note_file_groups() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
        BEGIN
            IF 'file_groups' = 'identities' AND is_bulk_change() THEN
                RETURN NULL;
            ELSIF TG_OP = 'INSERT' THEN
                PERFORM note_changes((SELECT string_agg(jsonb_build_object('kind', 'Application', 'id', (SELECT c.application_id FROM connectors c WHERE c.id = r.connector_id), 'part', 'fileGroups.' || r.name, 'is', to_jsonb(r) - '{id,connector_id,name}'::text[])::text, ',')
                                      FROM new_rows r WHERE (SELECT c.application_id FROM connectors c WHERE c.id = r.connector_id) IS NOT NULL));
            ELSIF TG_OP = 'DELETE' THEN
                PERFORM note_changes((SELECT string_agg(jsonb_build_object('kind', 'Application', 'id', (SELECT c.application_id FROM connectors c WHERE c.id = r.connector_id), 'part', 'fileGroups.' || r.name, 'was', to_jsonb(r) - '{id,connector_id,name}'::text[])::text, ',')
                                      FROM old_rows r WHERE (SELECT c.application_id FROM connectors c WHERE c.id = r.connector_id) IS NOT NULL));
            ELSE
                -- Differences of sets, not a join: linear whatever plan a session kept.
                PERFORM note_changes((SELECT string_agg(note::text, ',') FROM (
                    SELECT jsonb_build_object('kind', 'Application', 'id', (SELECT c.application_id FROM connectors c WHERE c.id = r.connector_id), 'part', 'fileGroups.' || r.name, 'was', to_jsonb(r) - '{id,connector_id,name}'::text[]) FROM old_rows r
                    EXCEPT SELECT jsonb_build_object('kind', 'Application', 'id', (SELECT c.application_id FROM connectors c WHERE c.id = r.connector_id), 'part', 'fileGroups.' || r.name, 'was', to_jsonb(r) - '{id,connector_id,name}'::text[]) FROM new_rows r) AS notes (note)));
                PERFORM note_changes((SELECT string_agg(note::text, ',') FROM (
                    SELECT jsonb_build_object('kind', 'Application', 'id', (SELECT c.application_id FROM connectors c WHERE c.id = r.connector_id), 'part', 'fileGroups.' || r.name, 'is', to_jsonb(r) - '{id,connector_id,name}'::text[]) FROM new_rows r
                    EXCEPT SELECT jsonb_build_object('kind', 'Application', 'id', (SELECT c.application_id FROM connectors c WHERE c.id = r.connector_id), 'part', 'fileGroups.' || r.name, 'is', to_jsonb(r) - '{id,connector_id,name}'::text[]) FROM old_rows r) AS notes (note)));
            END IF;
            RETURN NULL;
        END $$;

CREATE FUNCTION public.note_identities() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
        BEGIN
            IF 'identities' = 'identities' AND is_bulk_change() THEN
                RETURN NULL;
            ELSIF TG_OP = 'INSERT' THEN
                PERFORM note_changes((SELECT string_agg(jsonb_build_object('kind', 'Identity', 'id', r.id, 'part', '', 'is', to_jsonb(r) - '{id,last_name_key,first_name_key,list_key}'::text[])::text, ',')
                                      FROM new_rows r WHERE r.id IS NOT NULL));
            ELSIF TG_OP = 'DELETE' THEN
                PERFORM note_changes((SELECT string_agg(jsonb_build_object('kind', 'Identity', 'id', r.id, 'part', '', 'was', to_jsonb(r) - '{id,last_name_key,first_name_key,list_key}'::text[])::text, ',')
                                      FROM old_rows r WHERE r.id IS NOT NULL));
            ELSE
                -- Differences of sets, not a join: linear whatever plan a session kept.
                PERFORM note_changes((SELECT string_agg(note::text, ',') FROM (
                    SELECT jsonb_build_object('kind', 'Identity', 'id', r.id, 'part', '', 'was', to_jsonb(r) - '{id,last_name_key,first_name_key,list_key}'::text[]) FROM old_rows r
                    EXCEPT SELECT jsonb_build_object('kind', 'Identity', 'id', r.id, 'part', '', 'was', to_jsonb(r) - '{id,last_name_key,first_name_key,list_key}'::text[]) FROM new_rows r) AS notes (note)));
                PERFORM note_changes((SELECT string_agg(note::text, ',') FROM (
                    SELECT jsonb_build_object('kind', 'Identity', 'id', r.id, 'part', '', 'is', to_jsonb(r) - '{id,last_name_key,first_name_key,list_key}'::text[]) FROM new_rows r
                    EXCEPT SELECT jsonb_build_object('kind', 'Identity', 'id', r.id, 'part', '', 'is', to_jsonb(r) - '{id,last_name_key,first_name_key,list_key}'::text[]) FROM old_rows r) AS notes (note)));
            END IF;
            RETURN NULL;
        END $$;

CREATE FUNCTION public.note_identities_to_match() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO identities_to_match (identity_id, employee_id, email_address, last_name_key, first_name_key)
        SELECT id, employee_id, email_address, last_name_key, first_name_key FROM new_rows;
    ELSE
        INSERT INTO identities_to_match (identity_id, employee_id, email_address, last_name_key, first_name_key)
        -- EXCEPT, not a join: a session keeps the plan of its first update, which may have had one row.
        SELECT id, employee_id, email_address, last_name_key, first_name_key FROM (
            (SELECT id, employee_id, email_address, last_name_key, first_name_key, status FROM old_rows
             EXCEPT SELECT id, employee_id, email_address, last_name_key, first_name_key, status FROM new_rows)
            UNION ALL
            (SELECT id, employee_id, email_address, last_name_key, first_name_key, status FROM new_rows
             EXCEPT SELECT id, employee_id, email_address, last_name_key, first_name_key, status FROM old_rows)
        ) AS changed;
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION public.note_import_files() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
        BEGIN
            IF 'import_files' = 'identities' AND is_bulk_change() THEN
                RETURN NULL;
            ELSIF TG_OP = 'INSERT' THEN
                PERFORM note_changes((SELECT string_agg(jsonb_build_object('kind', 'Import', 'id', r.import_id, 'part', 'files.' || r.position, 'is', jsonb_build_object('fileGroup', r.file_group, 'name', r.name, 'sha256', encode(r.sha256, 'hex'), 'size', r.size))::text, ',')
                                      FROM new_rows r WHERE r.import_id IS NOT NULL));
            ELSIF TG_OP = 'DELETE' THEN
                PERFORM note_changes((SELECT string_agg(jsonb_build_object('kind', 'Import', 'id', r.import_id, 'part', 'files.' || r.position, 'was', jsonb_build_object('fileGroup', r.file_group, 'name', r.name, 'sha256', encode(r.sha256, 'hex'), 'size', r.size))::text, ',')
                                      FROM old_rows r WHERE r.import_id IS NOT NULL));
            ELSE
                -- Differences of sets, not a join: linear whatever plan a session kept.
                PERFORM note_changes((SELECT string_agg(note::text, ',') FROM (
                    SELECT jsonb_build_object('kind', 'Import', 'id', r.import_id, 'part', 'files.' || r.position, 'was', jsonb_build_object('fileGroup', r.file_group, 'name', r.name, 'sha256', encode(r.sha256, 'hex'), 'size', r.size)) FROM old_rows r
                    EXCEPT SELECT jsonb_build_object('kind', 'Import', 'id', r.import_id, 'part', 'files.' || r.position, 'was', jsonb_build_object('fileGroup', r.file_group, 'name', r.name, 'sha256', encode(r.sha256, 'hex'), 'size', r.size)) FROM new_rows r) AS notes (note)));
                PERFORM note_changes((SELECT string_agg(note::text, ',') FROM (
                    SELECT jsonb_build_object('kind', 'Import', 'id', r.import_id, 'part', 'files.' || r.position, 'is', jsonb_build_object('fileGroup', r.file_group, 'name', r.name, 'sha256', encode(r.sha256, 'hex'), 'size', r.size)) FROM new_rows r
                    EXCEPT SELECT jsonb_build_object('kind', 'Import', 'id', r.import_id, 'part', 'files.' || r.position, 'is', jsonb_build_object('fileGroup', r.file_group, 'name', r.name, 'sha256', encode(r.sha256, 'hex'), 'size', r.size)) FROM old_rows r) AS notes (note)));
            END IF;
            RETURN NULL;
        END $$;

CREATE FUNCTION public.note_import_runs() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
        BEGIN
            IF 'import_runs' = 'identities' AND is_bulk_change() THEN
                RETURN NULL;
            ELSIF TG_OP = 'INSERT' THEN
                PERFORM note_changes((SELECT string_agg(jsonb_build_object('kind', 'Import', 'id', r.import_id, 'part', 'run', 'is', jsonb_build_object('held', r.held, 'isUnguarded', nullif(r.is_unguarded, false), 'lowersRisk', nullif(r.lowers_risk, false), 'rollbackTo', r.rollback_to, 'totals', r.totals))::text, ',')
                                      FROM new_rows r WHERE r.import_id IS NOT NULL));
            ELSIF TG_OP = 'DELETE' THEN
                PERFORM note_changes((SELECT string_agg(jsonb_build_object('kind', 'Import', 'id', r.import_id, 'part', 'run', 'was', jsonb_build_object('held', r.held, 'isUnguarded', nullif(r.is_unguarded, false), 'lowersRisk', nullif(r.lowers_risk, false), 'rollbackTo', r.rollback_to, 'totals', r.totals))::text, ',')
                                      FROM old_rows r WHERE r.import_id IS NOT NULL));
            ELSE
                -- Differences of sets, not a join: linear whatever plan a session kept.
                PERFORM note_changes((SELECT string_agg(note::text, ',') FROM (
                    SELECT jsonb_build_object('kind', 'Import', 'id', r.import_id, 'part', 'run', 'was', jsonb_build_object('held', r.held, 'isUnguarded', nullif(r.is_unguarded, false), 'lowersRisk', nullif(r.lowers_risk, false), 'rollbackTo', r.rollback_to, 'totals', r.totals)) FROM old_rows r
                    EXCEPT SELECT jsonb_build_object('kind', 'Import', 'id', r.import_id, 'part', 'run', 'was', jsonb_build_object('held', r.held, 'isUnguarded', nullif(r.is_unguarded, false), 'lowersRisk', nullif(r.lowers_risk, false), 'rollbackTo', r.rollback_to, 'totals', r.totals)) FROM new_rows r) AS notes (note)));
                PERFORM note_changes((SELECT string_agg(note::text, ',') FROM (
                    SELECT jsonb_build_object('kind', 'Import', 'id', r.import_id, 'part', 'run', 'is', jsonb_build_object('held', r.held, 'isUnguarded', nullif(r.is_unguarded, false), 'lowersRisk', nullif(r.lowers_risk, false), 'rollbackTo', r.rollback_to, 'totals', r.totals)) FROM new_rows r
                    EXCEPT SELECT jsonb_build_object('kind', 'Import', 'id', r.import_id, 'part', 'run', 'is', jsonb_build_object('held', r.held, 'isUnguarded', nullif(r.is_unguarded, false), 'lowersRisk', nullif(r.lowers_risk, false), 'rollbackTo', r.rollback_to, 'totals', r.totals)) FROM old_rows r) AS notes (note)));
            END IF;
            RETURN NULL;
        END $$;

CREATE FUNCTION public.note_notification_preferences() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
        BEGIN
            IF 'notification_preferences' = 'identities' AND is_bulk_change() THEN
                RETURN NULL;
            ELSIF TG_OP = 'INSERT' THEN
                PERFORM note_changes((SELECT string_agg(jsonb_build_object('kind', 'Notification Preferences', 'id', r.identity_id, 'part', 'kinds.' || r.kind, 'is', jsonb_build_object('channel', r.channel, 'rhythm', r.rhythm))::text, ',')
                                      FROM new_rows r WHERE r.identity_id IS NOT NULL));
            ELSIF TG_OP = 'DELETE' THEN
                PERFORM note_changes((SELECT string_agg(jsonb_build_object('kind', 'Notification Preferences', 'id', r.identity_id, 'part', 'kinds.' || r.kind, 'was', jsonb_build_object('channel', r.channel, 'rhythm', r.rhythm))::text, ',')
                                      FROM old_rows r WHERE r.identity_id IS NOT NULL));
            ELSE
                -- Differences of sets, not a join: linear whatever plan a session kept.
                PERFORM note_changes((SELECT string_agg(note::text, ',') FROM (
                    SELECT jsonb_build_object('kind', 'Notification Preferences', 'id', r.identity_id, 'part', 'kinds.' || r.kind, 'was', jsonb_build_object('channel', r.channel, 'rhythm', r.rhythm)) FROM old_rows r
                    EXCEPT SELECT jsonb_build_object('kind', 'Notification Preferences', 'id', r.identity_id, 'part', 'kinds.' || r.kind, 'was', jsonb_build_object('channel', r.channel, 'rhythm', r.rhythm)) FROM new_rows r) AS notes (note)));
                PERFORM note_changes((SELECT string_agg(note::text, ',') FROM (
                    SELECT jsonb_build_object('kind', 'Notification Preferences', 'id', r.identity_id, 'part', 'kinds.' || r.kind, 'is', jsonb_build_object('channel', r.channel, 'rhythm', r.rhythm)) FROM new_rows r
                    EXCEPT SELECT jsonb_build_object('kind', 'Notification Preferences', 'id', r.identity_id, 'part', 'kinds.' || r.kind, 'is', jsonb_build_object('channel', r.channel, 'rhythm', r.rhythm)) FROM old_rows r) AS notes (note)));
            END IF;
            RETURN NULL;
        END $$;

CREATE FUNCTION public.note_notification_secrets() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
        BEGIN
            IF 'notification_secrets' = 'identities' AND is_bulk_change() THEN
                RETURN NULL;
            ELSIF TG_OP = 'INSERT' THEN
                PERFORM note_changes((SELECT string_agg(jsonb_build_object('kind', 'Notification Settings', 'id', '00000000-0000-0000-0000-000000000000'::uuid, 'part', 'secrets.' || r.channel, 'is', jsonb_build_object('setOn', r.set_on))::text, ',')
                                      FROM new_rows r WHERE '00000000-0000-0000-0000-000000000000'::uuid IS NOT NULL));
            ELSIF TG_OP = 'DELETE' THEN
                PERFORM note_changes((SELECT string_agg(jsonb_build_object('kind', 'Notification Settings', 'id', '00000000-0000-0000-0000-000000000000'::uuid, 'part', 'secrets.' || r.channel, 'was', jsonb_build_object('setOn', r.set_on))::text, ',')
                                      FROM old_rows r WHERE '00000000-0000-0000-0000-000000000000'::uuid IS NOT NULL));
            ELSE
                -- Differences of sets, not a join: linear whatever plan a session kept.
                PERFORM note_changes((SELECT string_agg(note::text, ',') FROM (
                    SELECT jsonb_build_object('kind', 'Notification Settings', 'id', '00000000-0000-0000-0000-000000000000'::uuid, 'part', 'secrets.' || r.channel, 'was', jsonb_build_object('setOn', r.set_on)) FROM old_rows r
                    EXCEPT SELECT jsonb_build_object('kind', 'Notification Settings', 'id', '00000000-0000-0000-0000-000000000000'::uuid, 'part', 'secrets.' || r.channel, 'was', jsonb_build_object('setOn', r.set_on)) FROM new_rows r) AS notes (note)));
                PERFORM note_changes((SELECT string_agg(note::text, ',') FROM (
                    SELECT jsonb_build_object('kind', 'Notification Settings', 'id', '00000000-0000-0000-0000-000000000000'::uuid, 'part', 'secrets.' || r.channel, 'is', jsonb_build_object('setOn', r.set_on)) FROM new_rows r
                    EXCEPT SELECT jsonb_build_object('kind', 'Notification Settings', 'id', '00000000-0000-0000-0000-000000000000'::uuid, 'part', 'secrets.' || r.channel, 'is', jsonb_build_object('setOn', r.set_on)) FROM old_rows r) AS notes (note)));
            END IF;
            RETURN NULL;
        END $$;

CREATE FUNCTION public.note_notification_settings() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
        BEGIN
            IF 'notification_settings' = 'identities' AND is_bulk_change() THEN
                RETURN NULL;
            ELSIF TG_OP = 'INSERT' THEN
                PERFORM note_changes((SELECT string_agg(jsonb_build_object('kind', 'Notification Settings', 'id', '00000000-0000-0000-0000-000000000000'::uuid, 'part', camel(r.name), 'is', jsonb_build_object('value', r.value))::text, ',')
                                      FROM new_rows r WHERE '00000000-0000-0000-0000-000000000000'::uuid IS NOT NULL));
            ELSIF TG_OP = 'DELETE' THEN
                PERFORM note_changes((SELECT string_agg(jsonb_build_object('kind', 'Notification Settings', 'id', '00000000-0000-0000-0000-000000000000'::uuid, 'part', camel(r.name), 'was', jsonb_build_object('value', r.value))::text, ',')
                                      FROM old_rows r WHERE '00000000-0000-0000-0000-000000000000'::uuid IS NOT NULL));
            ELSE
                -- Differences of sets, not a join: linear whatever plan a session kept.
                PERFORM note_changes((SELECT string_agg(note::text, ',') FROM (
                    SELECT jsonb_build_object('kind', 'Notification Settings', 'id', '00000000-0000-0000-0000-000000000000'::uuid, 'part', camel(r.name), 'was', jsonb_build_object('value', r.value)) FROM old_rows r
                    EXCEPT SELECT jsonb_build_object('kind', 'Notification Settings', 'id', '00000000-0000-0000-0000-000000000000'::uuid, 'part', camel(r.name), 'was', jsonb_build_object('value', r.value)) FROM new_rows r) AS notes (note)));
                PERFORM note_changes((SELECT string_agg(note::text, ',') FROM (
                    SELECT jsonb_build_object('kind', 'Notification Settings', 'id', '00000000-0000-0000-0000-000000000000'::uuid, 'part', camel(r.name), 'is', jsonb_build_object('value', r.value)) FROM new_rows r
                    EXCEPT SELECT jsonb_build_object('kind', 'Notification Settings', 'id', '00000000-0000-0000-0000-000000000000'::uuid, 'part', camel(r.name), 'is', jsonb_build_object('value', r.value)) FROM old_rows r) AS notes (note)));
            END IF;
            RETURN NULL;
        END $$;

CREATE FUNCTION public.note_notification_zones() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
        BEGIN
            IF 'notification_zones' = 'identities' AND is_bulk_change() THEN
                RETURN NULL;
            ELSIF TG_OP = 'INSERT' THEN
                PERFORM note_changes((SELECT string_agg(jsonb_build_object('kind', 'Notification Preferences', 'id', r.identity_id, 'part', 'zone', 'is', jsonb_build_object('zone', r.zone))::text, ',')
                                      FROM new_rows r WHERE r.identity_id IS NOT NULL));
            ELSIF TG_OP = 'DELETE' THEN
                PERFORM note_changes((SELECT string_agg(jsonb_build_object('kind', 'Notification Preferences', 'id', r.identity_id, 'part', 'zone', 'was', jsonb_build_object('zone', r.zone))::text, ',')
                                      FROM old_rows r WHERE r.identity_id IS NOT NULL));
            ELSE
                -- Differences of sets, not a join: linear whatever plan a session kept.
                PERFORM note_changes((SELECT string_agg(note::text, ',') FROM (
                    SELECT jsonb_build_object('kind', 'Notification Preferences', 'id', r.identity_id, 'part', 'zone', 'was', jsonb_build_object('zone', r.zone)) FROM old_rows r
                    EXCEPT SELECT jsonb_build_object('kind', 'Notification Preferences', 'id', r.identity_id, 'part', 'zone', 'was', jsonb_build_object('zone', r.zone)) FROM new_rows r) AS notes (note)));
                PERFORM note_changes((SELECT string_agg(note::text, ',') FROM (
                    SELECT jsonb_build_object('kind', 'Notification Preferences', 'id', r.identity_id, 'part', 'zone', 'is', jsonb_build_object('zone', r.zone)) FROM new_rows r
                    EXCEPT SELECT jsonb_build_object('kind', 'Notification Preferences', 'id', r.identity_id, 'part', 'zone', 'is', jsonb_build_object('zone', r.zone)) FROM old_rows r) AS notes (note)));
            END IF;
            RETURN NULL;
        END $$;

CREATE FUNCTION public.note_personnel_events() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
        BEGIN
            IF 'personnel_events' = 'identities' AND is_bulk_change() THEN
                RETURN NULL;
            ELSIF TG_OP = 'INSERT' THEN
                PERFORM note_changes((SELECT string_agg(jsonb_build_object('kind', 'Personnel Event', 'id', r.id, 'part', '', 'is', to_jsonb(r) - '{id,list_key}'::text[])::text, ',')
                                      FROM new_rows r WHERE r.id IS NOT NULL));
            ELSIF TG_OP = 'DELETE' THEN
                PERFORM note_changes((SELECT string_agg(jsonb_build_object('kind', 'Personnel Event', 'id', r.id, 'part', '', 'was', to_jsonb(r) - '{id,list_key}'::text[])::text, ',')
                                      FROM old_rows r WHERE r.id IS NOT NULL));
            ELSE
                -- Differences of sets, not a join: linear whatever plan a session kept.
                PERFORM note_changes((SELECT string_agg(note::text, ',') FROM (
                    SELECT jsonb_build_object('kind', 'Personnel Event', 'id', r.id, 'part', '', 'was', to_jsonb(r) - '{id,list_key}'::text[]) FROM old_rows r
                    EXCEPT SELECT jsonb_build_object('kind', 'Personnel Event', 'id', r.id, 'part', '', 'was', to_jsonb(r) - '{id,list_key}'::text[]) FROM new_rows r) AS notes (note)));
                PERFORM note_changes((SELECT string_agg(note::text, ',') FROM (
                    SELECT jsonb_build_object('kind', 'Personnel Event', 'id', r.id, 'part', '', 'is', to_jsonb(r) - '{id,list_key}'::text[]) FROM new_rows r
                    EXCEPT SELECT jsonb_build_object('kind', 'Personnel Event', 'id', r.id, 'part', '', 'is', to_jsonb(r) - '{id,list_key}'::text[]) FROM old_rows r) AS notes (note)));
            END IF;
            RETURN NULL;
        END $$;

CREATE FUNCTION public.note_pin() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM note_changes((SELECT string_agg(note::text, ',') FROM (VALUES
        (jsonb_build_object('kind', 'Account', 'id', OLD.id, 'part', '', 'was', jsonb_build_object('pin', OLD.pin, 'identityId', OLD.identity_id))),
        (jsonb_build_object('kind', 'Account', 'id', NEW.id, 'part', '', 'is', jsonb_build_object('pin', NEW.pin, 'identityId', NEW.identity_id)))
    ) AS notes (note)));
    RETURN NULL;
END $$;

CREATE FUNCTION public.note_privileges() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
        BEGIN
            IF 'privileges' = 'identities' AND is_bulk_change() THEN
                RETURN NULL;
            ELSIF TG_OP = 'INSERT' THEN
                PERFORM note_changes((SELECT string_agg(jsonb_build_object('kind', 'Access Request', 'id', r.request_id, 'part', 'privileges.' || r.position, 'is', to_jsonb(r) - '{request_id,position}'::text[])::text, ',')
                                      FROM new_rows r WHERE r.request_id IS NOT NULL));
            ELSIF TG_OP = 'DELETE' THEN
                PERFORM note_changes((SELECT string_agg(jsonb_build_object('kind', 'Access Request', 'id', r.request_id, 'part', 'privileges.' || r.position, 'was', to_jsonb(r) - '{request_id,position}'::text[])::text, ',')
                                      FROM old_rows r WHERE r.request_id IS NOT NULL));
            ELSE
                -- Differences of sets, not a join: linear whatever plan a session kept.
                PERFORM note_changes((SELECT string_agg(note::text, ',') FROM (
                    SELECT jsonb_build_object('kind', 'Access Request', 'id', r.request_id, 'part', 'privileges.' || r.position, 'was', to_jsonb(r) - '{request_id,position}'::text[]) FROM old_rows r
                    EXCEPT SELECT jsonb_build_object('kind', 'Access Request', 'id', r.request_id, 'part', 'privileges.' || r.position, 'was', to_jsonb(r) - '{request_id,position}'::text[]) FROM new_rows r) AS notes (note)));
                PERFORM note_changes((SELECT string_agg(note::text, ',') FROM (
                    SELECT jsonb_build_object('kind', 'Access Request', 'id', r.request_id, 'part', 'privileges.' || r.position, 'is', to_jsonb(r) - '{request_id,position}'::text[]) FROM new_rows r
                    EXCEPT SELECT jsonb_build_object('kind', 'Access Request', 'id', r.request_id, 'part', 'privileges.' || r.position, 'is', to_jsonb(r) - '{request_id,position}'::text[]) FROM old_rows r) AS notes (note)));
            END IF;
            RETURN NULL;
        END $$;

CREATE FUNCTION public.note_related_items() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
        BEGIN
            IF 'related_items' = 'identities' AND is_bulk_change() THEN
                RETURN NULL;
            ELSIF TG_OP = 'INSERT' THEN
                PERFORM note_changes((SELECT string_agg(jsonb_build_object('kind', 'Access Request', 'id', r.request_id, 'part', 'relatedItems.' || r.item_id, 'is', jsonb_build_object('kind', r.kind, 'number', r.number, 'stage', r.stage))::text, ',')
                                      FROM new_rows r WHERE r.request_id IS NOT NULL));
            ELSIF TG_OP = 'DELETE' THEN
                PERFORM note_changes((SELECT string_agg(jsonb_build_object('kind', 'Access Request', 'id', r.request_id, 'part', 'relatedItems.' || r.item_id, 'was', jsonb_build_object('kind', r.kind, 'number', r.number, 'stage', r.stage))::text, ',')
                                      FROM old_rows r WHERE r.request_id IS NOT NULL));
            ELSE
                -- Differences of sets, not a join: linear whatever plan a session kept.
                PERFORM note_changes((SELECT string_agg(note::text, ',') FROM (
                    SELECT jsonb_build_object('kind', 'Access Request', 'id', r.request_id, 'part', 'relatedItems.' || r.item_id, 'was', jsonb_build_object('kind', r.kind, 'number', r.number, 'stage', r.stage)) FROM old_rows r
                    EXCEPT SELECT jsonb_build_object('kind', 'Access Request', 'id', r.request_id, 'part', 'relatedItems.' || r.item_id, 'was', jsonb_build_object('kind', r.kind, 'number', r.number, 'stage', r.stage)) FROM new_rows r) AS notes (note)));
                PERFORM note_changes((SELECT string_agg(note::text, ',') FROM (
                    SELECT jsonb_build_object('kind', 'Access Request', 'id', r.request_id, 'part', 'relatedItems.' || r.item_id, 'is', jsonb_build_object('kind', r.kind, 'number', r.number, 'stage', r.stage)) FROM new_rows r
                    EXCEPT SELECT jsonb_build_object('kind', 'Access Request', 'id', r.request_id, 'part', 'relatedItems.' || r.item_id, 'is', jsonb_build_object('kind', r.kind, 'number', r.number, 'stage', r.stage)) FROM old_rows r) AS notes (note)));
            END IF;
            RETURN NULL;
        END $$;

CREATE FUNCTION public.note_reports() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
        BEGIN
            IF 'reports' = 'identities' AND is_bulk_change() THEN
                RETURN NULL;
            ELSIF TG_OP = 'INSERT' THEN
                PERFORM note_changes((SELECT string_agg(jsonb_build_object('kind', 'Report', 'id', r.id, 'part', '', 'is', to_jsonb(r) - '{id}'::text[])::text, ',')
                                      FROM new_rows r WHERE r.id IS NOT NULL));
            ELSIF TG_OP = 'DELETE' THEN
                PERFORM note_changes((SELECT string_agg(jsonb_build_object('kind', 'Report', 'id', r.id, 'part', '', 'was', to_jsonb(r) - '{id}'::text[])::text, ',')
                                      FROM old_rows r WHERE r.id IS NOT NULL));
            ELSE
                -- Differences of sets, not a join: linear whatever plan a session kept.
                PERFORM note_changes((SELECT string_agg(note::text, ',') FROM (
                    SELECT jsonb_build_object('kind', 'Report', 'id', r.id, 'part', '', 'was', to_jsonb(r) - '{id}'::text[]) FROM old_rows r
                    EXCEPT SELECT jsonb_build_object('kind', 'Report', 'id', r.id, 'part', '', 'was', to_jsonb(r) - '{id}'::text[]) FROM new_rows r) AS notes (note)));
                PERFORM note_changes((SELECT string_agg(note::text, ',') FROM (
                    SELECT jsonb_build_object('kind', 'Report', 'id', r.id, 'part', '', 'is', to_jsonb(r) - '{id}'::text[]) FROM new_rows r
                    EXCEPT SELECT jsonb_build_object('kind', 'Report', 'id', r.id, 'part', '', 'is', to_jsonb(r) - '{id}'::text[]) FROM old_rows r) AS notes (note)));
            END IF;
            RETURN NULL;
        END $$;

CREATE FUNCTION public.note_responses() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
        BEGIN
            IF 'responses' = 'identities' AND is_bulk_change() THEN
                RETURN NULL;
            ELSIF TG_OP = 'INSERT' THEN
                PERFORM note_changes((SELECT string_agg(jsonb_build_object('kind', 'Access Request', 'id', r.request_id, 'part', concat_ws('.', 'responses', r.type, r.rule, r.position), 'is', to_jsonb(r) - '{request_id,type,rule,position}'::text[])::text, ',')
                                      FROM new_rows r WHERE r.request_id IS NOT NULL));
            ELSIF TG_OP = 'DELETE' THEN
                PERFORM note_changes((SELECT string_agg(jsonb_build_object('kind', 'Access Request', 'id', r.request_id, 'part', concat_ws('.', 'responses', r.type, r.rule, r.position), 'was', to_jsonb(r) - '{request_id,type,rule,position}'::text[])::text, ',')
                                      FROM old_rows r WHERE r.request_id IS NOT NULL));
            ELSE
                -- Differences of sets, not a join: linear whatever plan a session kept.
                PERFORM note_changes((SELECT string_agg(note::text, ',') FROM (
                    SELECT jsonb_build_object('kind', 'Access Request', 'id', r.request_id, 'part', concat_ws('.', 'responses', r.type, r.rule, r.position), 'was', to_jsonb(r) - '{request_id,type,rule,position}'::text[]) FROM old_rows r
                    EXCEPT SELECT jsonb_build_object('kind', 'Access Request', 'id', r.request_id, 'part', concat_ws('.', 'responses', r.type, r.rule, r.position), 'was', to_jsonb(r) - '{request_id,type,rule,position}'::text[]) FROM new_rows r) AS notes (note)));
                PERFORM note_changes((SELECT string_agg(note::text, ',') FROM (
                    SELECT jsonb_build_object('kind', 'Access Request', 'id', r.request_id, 'part', concat_ws('.', 'responses', r.type, r.rule, r.position), 'is', to_jsonb(r) - '{request_id,type,rule,position}'::text[]) FROM new_rows r
                    EXCEPT SELECT jsonb_build_object('kind', 'Access Request', 'id', r.request_id, 'part', concat_ws('.', 'responses', r.type, r.rule, r.position), 'is', to_jsonb(r) - '{request_id,type,rule,position}'::text[]) FROM old_rows r) AS notes (note)));
            END IF;
            RETURN NULL;
        END $$;

CREATE FUNCTION public.note_schedules() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
        BEGIN
            IF 'schedules' = 'identities' AND is_bulk_change() THEN
                RETURN NULL;
            ELSIF TG_OP = 'INSERT' THEN
                PERFORM note_changes((SELECT string_agg(jsonb_build_object('kind', 'Application', 'id', r.application_id, 'part', 'schedule', 'is', to_jsonb(r) - '{application_id}'::text[])::text, ',')
                                      FROM new_rows r WHERE r.application_id IS NOT NULL));
            ELSIF TG_OP = 'DELETE' THEN
                PERFORM note_changes((SELECT string_agg(jsonb_build_object('kind', 'Application', 'id', r.application_id, 'part', 'schedule', 'was', to_jsonb(r) - '{application_id}'::text[])::text, ',')
                                      FROM old_rows r WHERE r.application_id IS NOT NULL));
            ELSE
                -- Differences of sets, not a join: linear whatever plan a session kept.
                PERFORM note_changes((SELECT string_agg(note::text, ',') FROM (
                    SELECT jsonb_build_object('kind', 'Application', 'id', r.application_id, 'part', 'schedule', 'was', to_jsonb(r) - '{application_id}'::text[]) FROM old_rows r
                    EXCEPT SELECT jsonb_build_object('kind', 'Application', 'id', r.application_id, 'part', 'schedule', 'was', to_jsonb(r) - '{application_id}'::text[]) FROM new_rows r) AS notes (note)));
                PERFORM note_changes((SELECT string_agg(note::text, ',') FROM (
                    SELECT jsonb_build_object('kind', 'Application', 'id', r.application_id, 'part', 'schedule', 'is', to_jsonb(r) - '{application_id}'::text[]) FROM new_rows r
                    EXCEPT SELECT jsonb_build_object('kind', 'Application', 'id', r.application_id, 'part', 'schedule', 'is', to_jsonb(r) - '{application_id}'::text[]) FROM old_rows r) AS notes (note)));
            END IF;
            RETURN NULL;
        END $$;

CREATE FUNCTION public.note_settings() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
        BEGIN
            IF 'settings' = 'identities' AND is_bulk_change() THEN
                RETURN NULL;
            ELSIF TG_OP = 'INSERT' THEN
                PERFORM note_changes((SELECT string_agg(jsonb_build_object('kind', 'Settings', 'id', '00000000-0000-0000-0000-000000000000'::uuid, 'part', camel(r.name), 'is', jsonb_build_object('value', r.value))::text, ',')
                                      FROM new_rows r WHERE '00000000-0000-0000-0000-000000000000'::uuid IS NOT NULL));
            ELSIF TG_OP = 'DELETE' THEN
                PERFORM note_changes((SELECT string_agg(jsonb_build_object('kind', 'Settings', 'id', '00000000-0000-0000-0000-000000000000'::uuid, 'part', camel(r.name), 'was', jsonb_build_object('value', r.value))::text, ',')
                                      FROM old_rows r WHERE '00000000-0000-0000-0000-000000000000'::uuid IS NOT NULL));
            ELSE
                -- Differences of sets, not a join: linear whatever plan a session kept.
                PERFORM note_changes((SELECT string_agg(note::text, ',') FROM (
                    SELECT jsonb_build_object('kind', 'Settings', 'id', '00000000-0000-0000-0000-000000000000'::uuid, 'part', camel(r.name), 'was', jsonb_build_object('value', r.value)) FROM old_rows r
                    EXCEPT SELECT jsonb_build_object('kind', 'Settings', 'id', '00000000-0000-0000-0000-000000000000'::uuid, 'part', camel(r.name), 'was', jsonb_build_object('value', r.value)) FROM new_rows r) AS notes (note)));
                PERFORM note_changes((SELECT string_agg(note::text, ',') FROM (
                    SELECT jsonb_build_object('kind', 'Settings', 'id', '00000000-0000-0000-0000-000000000000'::uuid, 'part', camel(r.name), 'is', jsonb_build_object('value', r.value)) FROM new_rows r
                    EXCEPT SELECT jsonb_build_object('kind', 'Settings', 'id', '00000000-0000-0000-0000-000000000000'::uuid, 'part', camel(r.name), 'is', jsonb_build_object('value', r.value)) FROM old_rows r) AS notes (note)));
            END IF;
            RETURN NULL;
        END $$;

CREATE FUNCTION public.note_sign_in_links() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
        BEGIN
            IF 'sign_in_links' = 'identities' AND is_bulk_change() THEN
                RETURN NULL;
            ELSIF TG_OP = 'INSERT' THEN
                PERFORM note_changes((SELECT string_agg(jsonb_build_object('kind', 'Console User', 'id', r.identity_id, 'part', 'signInLink', 'is', jsonb_build_object('expiresAt', r.expires_at, 'usedAt', r.used_at))::text, ',')
                                      FROM new_rows r WHERE r.identity_id IS NOT NULL));
            ELSIF TG_OP = 'DELETE' THEN
                PERFORM note_changes((SELECT string_agg(jsonb_build_object('kind', 'Console User', 'id', r.identity_id, 'part', 'signInLink', 'was', jsonb_build_object('expiresAt', r.expires_at, 'usedAt', r.used_at))::text, ',')
                                      FROM old_rows r WHERE r.identity_id IS NOT NULL));
            ELSE
                -- Differences of sets, not a join: linear whatever plan a session kept.
                PERFORM note_changes((SELECT string_agg(note::text, ',') FROM (
                    SELECT jsonb_build_object('kind', 'Console User', 'id', r.identity_id, 'part', 'signInLink', 'was', jsonb_build_object('expiresAt', r.expires_at, 'usedAt', r.used_at)) FROM old_rows r
                    EXCEPT SELECT jsonb_build_object('kind', 'Console User', 'id', r.identity_id, 'part', 'signInLink', 'was', jsonb_build_object('expiresAt', r.expires_at, 'usedAt', r.used_at)) FROM new_rows r) AS notes (note)));
                PERFORM note_changes((SELECT string_agg(note::text, ',') FROM (
                    SELECT jsonb_build_object('kind', 'Console User', 'id', r.identity_id, 'part', 'signInLink', 'is', jsonb_build_object('expiresAt', r.expires_at, 'usedAt', r.used_at)) FROM new_rows r
                    EXCEPT SELECT jsonb_build_object('kind', 'Console User', 'id', r.identity_id, 'part', 'signInLink', 'is', jsonb_build_object('expiresAt', r.expires_at, 'usedAt', r.used_at)) FROM old_rows r) AS notes (note)));
            END IF;
            RETURN NULL;
        END $$;

CREATE FUNCTION public.note_stages() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
        BEGIN
            IF 'stages' = 'identities' AND is_bulk_change() THEN
                RETURN NULL;
            ELSIF TG_OP = 'INSERT' THEN
                PERFORM note_changes((SELECT string_agg(jsonb_build_object('kind', 'Personnel Event', 'id', r.event_id, 'part', 'stages.' || r.sequence, 'is', to_jsonb(r) - '{event_id,sequence}'::text[])::text, ',')
                                      FROM new_rows r WHERE r.event_id IS NOT NULL));
            ELSIF TG_OP = 'DELETE' THEN
                PERFORM note_changes((SELECT string_agg(jsonb_build_object('kind', 'Personnel Event', 'id', r.event_id, 'part', 'stages.' || r.sequence, 'was', to_jsonb(r) - '{event_id,sequence}'::text[])::text, ',')
                                      FROM old_rows r WHERE r.event_id IS NOT NULL));
            ELSE
                -- Differences of sets, not a join: linear whatever plan a session kept.
                PERFORM note_changes((SELECT string_agg(note::text, ',') FROM (
                    SELECT jsonb_build_object('kind', 'Personnel Event', 'id', r.event_id, 'part', 'stages.' || r.sequence, 'was', to_jsonb(r) - '{event_id,sequence}'::text[]) FROM old_rows r
                    EXCEPT SELECT jsonb_build_object('kind', 'Personnel Event', 'id', r.event_id, 'part', 'stages.' || r.sequence, 'was', to_jsonb(r) - '{event_id,sequence}'::text[]) FROM new_rows r) AS notes (note)));
                PERFORM note_changes((SELECT string_agg(note::text, ',') FROM (
                    SELECT jsonb_build_object('kind', 'Personnel Event', 'id', r.event_id, 'part', 'stages.' || r.sequence, 'is', to_jsonb(r) - '{event_id,sequence}'::text[]) FROM new_rows r
                    EXCEPT SELECT jsonb_build_object('kind', 'Personnel Event', 'id', r.event_id, 'part', 'stages.' || r.sequence, 'is', to_jsonb(r) - '{event_id,sequence}'::text[]) FROM old_rows r) AS notes (note)));
            END IF;
            RETURN NULL;
        END $$;

CREATE FUNCTION public.note_tokens() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
        BEGIN
            IF 'tokens' = 'identities' AND is_bulk_change() THEN
                RETURN NULL;
            ELSIF TG_OP = 'INSERT' THEN
                PERFORM note_changes((SELECT string_agg(jsonb_build_object('kind', 'Token', 'id', r.id, 'part', '', 'is', to_jsonb(r) - '{id,public_id,secret_sha256,last_used_at}'::text[])::text, ',')
                                      FROM new_rows r WHERE r.id IS NOT NULL));
            ELSIF TG_OP = 'DELETE' THEN
                PERFORM note_changes((SELECT string_agg(jsonb_build_object('kind', 'Token', 'id', r.id, 'part', '', 'was', to_jsonb(r) - '{id,public_id,secret_sha256,last_used_at}'::text[])::text, ',')
                                      FROM old_rows r WHERE r.id IS NOT NULL));
            ELSE
                -- Differences of sets, not a join: linear whatever plan a session kept.
                PERFORM note_changes((SELECT string_agg(note::text, ',') FROM (
                    SELECT jsonb_build_object('kind', 'Token', 'id', r.id, 'part', '', 'was', to_jsonb(r) - '{id,public_id,secret_sha256,last_used_at}'::text[]) FROM old_rows r
                    EXCEPT SELECT jsonb_build_object('kind', 'Token', 'id', r.id, 'part', '', 'was', to_jsonb(r) - '{id,public_id,secret_sha256,last_used_at}'::text[]) FROM new_rows r) AS notes (note)));
                PERFORM note_changes((SELECT string_agg(note::text, ',') FROM (
                    SELECT jsonb_build_object('kind', 'Token', 'id', r.id, 'part', '', 'is', to_jsonb(r) - '{id,public_id,secret_sha256,last_used_at}'::text[]) FROM new_rows r
                    EXCEPT SELECT jsonb_build_object('kind', 'Token', 'id', r.id, 'part', '', 'is', to_jsonb(r) - '{id,public_id,secret_sha256,last_used_at}'::text[]) FROM old_rows r) AS notes (note)));
            END IF;
            RETURN NULL;
        END $$;

CREATE FUNCTION public.note_webhook_callbacks() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
        BEGIN
            IF 'webhook_callbacks' = 'identities' AND is_bulk_change() THEN
                RETURN NULL;
            ELSIF TG_OP = 'INSERT' THEN
                PERFORM note_changes((SELECT string_agg(jsonb_build_object('kind', 'Webhook Delivery', 'id', r.delivery_id, 'part', 'callbacks.' || r.number, 'is', jsonb_build_object('content', r.content))::text, ',')
                                      FROM new_rows r WHERE r.delivery_id IS NOT NULL));
            ELSIF TG_OP = 'DELETE' THEN
                PERFORM note_changes((SELECT string_agg(jsonb_build_object('kind', 'Webhook Delivery', 'id', r.delivery_id, 'part', 'callbacks.' || r.number, 'was', jsonb_build_object('content', r.content))::text, ',')
                                      FROM old_rows r WHERE r.delivery_id IS NOT NULL));
            ELSE
                -- Differences of sets, not a join: linear whatever plan a session kept.
                PERFORM note_changes((SELECT string_agg(note::text, ',') FROM (
                    SELECT jsonb_build_object('kind', 'Webhook Delivery', 'id', r.delivery_id, 'part', 'callbacks.' || r.number, 'was', jsonb_build_object('content', r.content)) FROM old_rows r
                    EXCEPT SELECT jsonb_build_object('kind', 'Webhook Delivery', 'id', r.delivery_id, 'part', 'callbacks.' || r.number, 'was', jsonb_build_object('content', r.content)) FROM new_rows r) AS notes (note)));
                PERFORM note_changes((SELECT string_agg(note::text, ',') FROM (
                    SELECT jsonb_build_object('kind', 'Webhook Delivery', 'id', r.delivery_id, 'part', 'callbacks.' || r.number, 'is', jsonb_build_object('content', r.content)) FROM new_rows r
                    EXCEPT SELECT jsonb_build_object('kind', 'Webhook Delivery', 'id', r.delivery_id, 'part', 'callbacks.' || r.number, 'is', jsonb_build_object('content', r.content)) FROM old_rows r) AS notes (note)));
            END IF;
            RETURN NULL;
        END $$;

CREATE FUNCTION public.note_webhooks() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
        BEGIN
            IF 'webhooks' = 'identities' AND is_bulk_change() THEN
                RETURN NULL;
            ELSIF TG_OP = 'INSERT' THEN
                PERFORM note_changes((SELECT string_agg(jsonb_build_object('kind', 'Webhook', 'id', r.id, 'part', '', 'is', to_jsonb(r) - '{id,secret,previous_secret,failures,failing_since}'::text[])::text, ',')
                                      FROM new_rows r WHERE r.id IS NOT NULL));
            ELSIF TG_OP = 'DELETE' THEN
                PERFORM note_changes((SELECT string_agg(jsonb_build_object('kind', 'Webhook', 'id', r.id, 'part', '', 'was', to_jsonb(r) - '{id,secret,previous_secret,failures,failing_since}'::text[])::text, ',')
                                      FROM old_rows r WHERE r.id IS NOT NULL));
            ELSE
                -- Differences of sets, not a join: linear whatever plan a session kept.
                PERFORM note_changes((SELECT string_agg(note::text, ',') FROM (
                    SELECT jsonb_build_object('kind', 'Webhook', 'id', r.id, 'part', '', 'was', to_jsonb(r) - '{id,secret,previous_secret,failures,failing_since}'::text[]) FROM old_rows r
                    EXCEPT SELECT jsonb_build_object('kind', 'Webhook', 'id', r.id, 'part', '', 'was', to_jsonb(r) - '{id,secret,previous_secret,failures,failing_since}'::text[]) FROM new_rows r) AS notes (note)));
                PERFORM note_changes((SELECT string_agg(note::text, ',') FROM (
                    SELECT jsonb_build_object('kind', 'Webhook', 'id', r.id, 'part', '', 'is', to_jsonb(r) - '{id,secret,previous_secret,failures,failing_since}'::text[]) FROM new_rows r
                    EXCEPT SELECT jsonb_build_object('kind', 'Webhook', 'id', r.id, 'part', '', 'is', to_jsonb(r) - '{id,secret,previous_secret,failures,failing_since}'::text[]) FROM old_rows r) AS notes (note)));
            END IF;
            RETURN NULL;
        END $$;

CREATE FUNCTION public.notifications_channel() RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN 'notifications'::text;

CREATE TABLE public.console_roles (
    identity_id uuid NOT NULL,
    role text NOT NULL,
    email text DEFAULT ''::text NOT NULL,
    CONSTRAINT role_is_known CHECK ((role = ANY (ARRAY['Administrator'::text, 'People'::text, 'Operator'::text, 'Reviewer'::text, 'Provisioner'::text, 'Auditor'::text])))
);

CREATE FUNCTION public.people_to_tell(reviewer uuid) RETURNS SETOF uuid
    LANGUAGE sql STABLE ROWS 1
    BEGIN ATOMIC
 SELECT i.id
    FROM public.identities i
   WHERE ((i.id = people_to_tell.reviewer) AND (i.status = 'Active'::text))
 UNION ALL
  SELECT i.id
    FROM (public.console_roles c
      JOIN public.identities i ON ((i.id = c.identity_id)))
   WHERE ((people_to_tell.reviewer = public.administrators_id()) AND (c.role = 'Administrator'::text) AND (i.status = 'Active'::text));
END;

CREATE FUNCTION public.permission_in_any_case(header text, section text, permission text) RETURNS text
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    AS $$SELECT md5(lower((header || chr(1) || section || chr(1) || permission) COLLATE "default"))$$;

CREATE FUNCTION public.person_or_administrators(person uuid) RETURNS SETOF uuid
    LANGUAGE sql STABLE ROWS 1
    BEGIN ATOMIC
 SELECT public.people_to_tell(
         CASE
             WHEN (EXISTS ( SELECT
                FROM public.identities i
               WHERE ((i.id = person_or_administrators.person) AND (i.status = 'Active'::text)))) THEN person
             ELSE public.administrators_id()
         END) AS people_to_tell;
END;

CREATE FUNCTION public.personnel_events_channel() RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN 'personnel-events'::text;

CREATE FUNCTION public.privilege_risk(permission integer, membership integer) RETURNS text
    LANGUAGE sql STABLE
    RETURN COALESCE(public.known_risk(permission, membership), 'Critical'::text);

CREATE FUNCTION public.rate_groups(changed integer[]) RETURNS void
    LANGUAGE sql
    BEGIN ATOMIC
 WITH RECURSIVE parents AS MATERIALIZED (
          SELECT DISTINCT ON (child.number) child.number AS child,
             parent.number AS parent
            FROM ((public.groups child
              JOIN public.group_versions v ON (((v.group_number = child.number) AND (v.until_import IS NULL) AND (v.parent <> ''::text))))
              JOIN public.groups parent ON (((parent.application_id = child.application_id) AND (public.in_any_case(parent.name) = public.in_any_case(v.parent)))))
           WHERE (child.application_id IN ( SELECT g_1.application_id
                    FROM (unnest(rate_groups.changed) c(c)
                      JOIN public.groups g_1 ON ((g_1.number = c.c)))))
           ORDER BY child.number, (parent.name = v.parent) DESC, parent.number
         ), affected(number) AS (
          SELECT c.c
            FROM unnest(rate_groups.changed) c(c)
         UNION
          SELECT p.child
            FROM (affected a
              JOIN parents p ON ((p.parent = a.number)))
         ), walked(number, above, depth) AS (
          SELECT a.number,
             a.number,
             0 AS "?column?"
            FROM affected a
         UNION ALL
          SELECT w.number,
             p.parent,
             (w.depth + 1)
            FROM (walked w
              JOIN parents p ON ((p.child = w.above)))
           WHERE (w.depth < public.deepest_nesting())
         ), above AS MATERIALIZED (
          SELECT DISTINCT w.number,
             w.above
            FROM walked w
         ), held AS MATERIALIZED (
          SELECT holders.above AS number,
             s.permission_number
            FROM (( SELECT DISTINCT a.above
                    FROM above a) holders
              CROSS JOIN LATERAL ( SELECT s_1.permission_number
                    FROM public.assignments s_1
                   WHERE ((s_1.holder_number = holders.above) AND (s_1.access <> 'None'::public.access) AND (s_1.until_import IS NULL))
                  OFFSET 0) s)
         ), given AS MATERIALIZED (
          SELECT h.number,
             max(public.risk_rank(COALESCE(c.risk_rating, v.risk_rating))) AS rank
            FROM (((held h
              JOIN public.permission_versions v ON (((v.permission_number = h.permission_number) AND (v.until_import IS NULL))))
              JOIN public.permissions p ON ((p.number = h.permission_number)))
              LEFT JOIN public.curations c ON ((c.entitlement_id = p.id)))
           GROUP BY h.number
         ), curated AS MATERIALIZED (
          SELECT g_1.number,
             c.risk_rating
            FROM (public.curations c
              JOIN public.groups g_1 ON ((g_1.id = c.entitlement_id)))
           WHERE (c.risk_rating IS NOT NULL)
         ), rated AS (
          SELECT a.number,
             COALESCE(max(c.risk_rating) FILTER (WHERE (a.above = a.number)), (public.levels_in_order())[max(GREATEST(g_1.rank, public.risk_rank(c.risk_rating)))], 'None'::text) AS risk
            FROM ((above a
              LEFT JOIN given g_1 ON ((g_1.number = a.above)))
              LEFT JOIN curated c ON ((c.number = a.above)))
           GROUP BY a.number
         )
  UPDATE public.entitlements e SET risk_rating = r.risk
    FROM (rated r
      JOIN public.groups g ON ((g.number = r.number)))
   WHERE ((e.id = g.id) AND (e.risk_rating <> r.risk));
END;

CREATE FUNCTION public.recount_list(the_list text, columns text[]) RETURNS void
    LANGUAGE plpgsql
    AS $_$
DECLARE
    counts text := (
        SELECT string_agg(format(
            'SELECT jsonb_build_object(%1$s) AS facet, max(n) AS total,
                    coalesce(array_agg(list_key ORDER BY n) FILTER (WHERE n > 1 AND n %% list_stride() = 1), ''{}'') AS keys,
                    coalesce(array_agg(n - 1 ORDER BY n) FILTER (WHERE n > 1 AND n %% list_stride() = 1), ''{}'') AS starts
             FROM (SELECT list_key%2$s, row_number() OVER (%3$s ORDER BY list_key) AS n FROM %4$s WHERE %5$s) AS places
             GROUP BY %6$s HAVING count(*) > 0',
            (SELECT string_agg(format('%L, %I', c, c), ', ') FROM unnest(s.subset) AS c),
            (SELECT string_agg(format(', %I', c), '') FROM unnest(s.subset) AS c),
            (SELECT 'PARTITION BY ' || string_agg(quote_ident(c), ', ') FROM unnest(s.subset) AS c),
            the_list::regclass,
            (SELECT string_agg(format('%I IS NOT NULL', c), ' AND ') FROM unnest(s.subset || 'list_key'::text) AS c),
            coalesce((SELECT string_agg(quote_ident(c), ', ') FROM unnest(s.subset) AS c), '()')
        ), ' UNION ALL ') FROM subsets_of(columns) AS s);
BEGIN
    EXECUTE format($sql$
        WITH gone AS (
            DELETE FROM list_changes WHERE list = $1
        ), counted AS MATERIALIZED (%s), vanished AS (
            DELETE FROM list_contents WHERE list = $1 AND NOT facet = ANY (SELECT facet FROM counted)
        )
        INSERT INTO list_contents (list, facet, total, keys, starts) SELECT $1, facet, total, keys, starts FROM counted
        ON CONFLICT (list, facet) DO UPDATE SET total = EXCLUDED.total, keys = EXCLUDED.keys, starts = EXCLUDED.starts
    $sql$, counts) USING the_list;
END $_$;

CREATE FUNCTION public.refresh_access_model_members() RETURNS trigger
    LANGUAGE plpgsql
    AS $_$
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
    -- One statement for each kind of change: docs/lists.md says why.
    IF TG_OP = 'UPDATE' THEN
        DELETE FROM access_model_members m USING unnest(stale_models, stale_people) AS s (model_id, identity_id)
        WHERE m.model_id = s.model_id AND m.identity_id = s.identity_id;
        -- EXECUTE, so that it is planned each time: the best plan for one identity is not the best for thousands.
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
END $_$;

CREATE FUNCTION public.refresh_entitlements(application uuid, import_number integer) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    touched_permissions int[] := ARRAY(
        SELECT permission_number FROM permission_versions WHERE from_import = import_number
        UNION SELECT permission_number FROM permission_versions WHERE until_import = import_number);
    touched_groups int[] := ARRAY(
        SELECT group_number FROM group_versions WHERE from_import = import_number
        UNION SELECT group_number FROM group_versions WHERE until_import = import_number);
BEGIN
    -- Serialise with curations, which lock this table too: neither may write ratings from a snapshot without the other.
    LOCK TABLE curations IN SHARE MODE;
    -- One statement for each kind of change: docs/lists.md says why.
    UPDATE entitlements e
    SET header = s.header, description = s.description, is_present = s.until_import IS NULL, gone_import = s.until_import,
        risk_rating = coalesce(c.risk_rating, s.risk_rating, e.risk_rating)
    FROM shown_entitlements s LEFT JOIN curations c ON c.entitlement_id = s.id
    WHERE s.id = e.id AND (s.kind = 'Permission' AND s.number = ANY(touched_permissions) OR s.kind = 'Group' AND s.number = ANY(touched_groups));
    INSERT INTO entitlements (id, kind, number, application_id, header, section, name, description, is_present, first_import, gone_import, risk_rating)
    SELECT s.id, s.kind, s.number, s.application_id, s.header, s.section, s.name, s.description, s.until_import IS NULL, import_number,
           s.until_import, coalesce(s.risk_rating, 'None')
    FROM shown_entitlements s
    WHERE (s.kind = 'Permission' AND s.number = ANY(touched_permissions) OR s.kind = 'Group' AND s.number = ANY(touched_groups))
          AND NOT EXISTS (SELECT FROM entitlements e WHERE e.id = s.id);
    PERFORM rate_groups(ARRAY(
        SELECT g.number FROM groups g WHERE g.application_id = application AND (g.number = ANY(touched_groups) OR EXISTS (
            SELECT FROM assignments s WHERE s.holder_number = g.number AND (
                s.from_import = import_number OR s.until_import = import_number
                OR s.until_import IS NULL AND s.permission_number = ANY(touched_permissions))))));
END $$;

CREATE FUNCTION public.respace_list(the_list text, the_facet jsonb) RETURNS void
    LANGUAGE plpgsql
    AS $_$
DECLARE
    condition text := coalesce((SELECT string_agg(format('%I = %L', key, value), ' AND ') FROM jsonb_each_text(the_facet)), 'true');
BEGIN
    EXECUTE format($sql$
        WITH contents AS (
            SELECT total, keys, starts FROM list_contents WHERE list = $1 AND facet = $2
        ), gaps AS (
            SELECT lower_key, upper_key, lower FROM contents,
                 unnest(''::text || keys, keys || chr(1114111), 0 || starts, starts || total) AS gap (lower_key, upper_key, lower, upper)
            WHERE upper - lower > 2 * list_stride()
        ), places AS (
            SELECT key, start FROM contents, unnest(keys, starts) AS place (key, start)
            UNION ALL
            SELECT found.key, gaps.lower + found.before - (
                SELECT coalesce(sum(c.rows), 0) FROM list_changes c
                WHERE c.list = $1 AND c.facets @> $2 AND c.key >= gaps.lower_key AND c.key < found.key)
            FROM gaps CROSS JOIN LATERAL (
                SELECT list_key AS key, row_number() OVER (ORDER BY list_key) - 1 AS before FROM %1$s
                WHERE %2$s AND list_key >= gaps.lower_key AND list_key < gaps.upper_key
            ) found
            WHERE found.before %% list_stride() = 0 AND found.before > 0
        ), spaced AS (
            SELECT DISTINCT ON (start / list_stride()) key, start FROM places WHERE start > 0 ORDER BY start / list_stride(), start
        )
        UPDATE list_contents SET (keys, starts) = (
            SELECT coalesce(array_agg(key ORDER BY key), '{}'), coalesce(array_agg(start ORDER BY key), '{}') FROM spaced)
        WHERE list = $1 AND facet = $2
    $sql$, the_list::regclass, condition) USING the_list, the_facet;
END $_$;

CREATE FUNCTION public.written_on() RETURNS timestamp with time zone
    LANGUAGE sql STABLE
    RETURN COALESCE((((NULLIF(current_setting('rolecall.author'::text, true), ''::text))::jsonb ->> 'createdDate'::text))::timestamp with time zone, now());

CREATE TABLE public.reports (
    id uuid NOT NULL,
    name text NOT NULL,
    description text DEFAULT ''::text NOT NULL,
    list text NOT NULL,
    filters jsonb DEFAULT '{}'::jsonb NOT NULL,
    columns text[] DEFAULT '{}'::text[] NOT NULL,
    period text DEFAULT 'Now'::text NOT NULL,
    format text DEFAULT 'csv'::text NOT NULL,
    cron text,
    location text,
    owner_id uuid,
    created_date timestamp with time zone NOT NULL,
    deleted_on timestamp with time zone,
    CONSTRAINT format_is_known CHECK ((format = ANY (ARRAY['csv'::text, 'xlsx'::text, 'jsonl'::text, 'parquet'::text]))),
    CONSTRAINT period_is_known CHECK ((period = ANY (ARRAY['Now'::text, 'Yesterday'::text, 'Last Week'::text, 'Last Month'::text, 'Last Quarter'::text, 'Last Year'::text]))),
    CONSTRAINT schedule_is_whole CHECK (((cron IS NULL) = (location IS NULL)))
);

CREATE FUNCTION public.ship_reports() RETURNS void
    LANGUAGE sql
    BEGIN ATOMIC
 INSERT INTO public.reports (id, name, description, list, filters, period, created_date)  SELECT gen_random_uuid() AS gen_random_uuid,
             shipped.name,
             shipped.description,
             shipped.list,
             (shipped.filters)::jsonb AS filters,
             shipped.period,
             public.written_on() AS written_on
            FROM ( VALUES ('Everyone''s access'::text,'Who can do what, in which application, since when and why.'::text,'access'::text,'{}'::text,'Now'::text), ('Application roster'::text,'All accounts with the people behind them; filter it by application for one roster.'::text,'all-accounts'::text,'{}'::text,'Now'::text), ('Privileged access'::text,'Who holds an entitlement that is marked as privileged.'::text,'access'::text,'{"privileged": "true"}'::text,'Now'::text), ('Unexplained access'::text,'Access that no request and no access model explains.'::text,'access'::text,'{"explained": "false"}'::text,'Now'::text), ('Leavers'' accounts'::text,'Active accounts of people who have left.'::text,'all-accounts'::text,'{"leaver": "true", "isActive": "true"}'::text,'Now'::text), ('Unmatched accounts'::text,'Accounts without a person behind them.'::text,'all-accounts'::text,'{"match": "Unmatched"}'::text,'Now'::text), ('Dormant accounts'::text,'Active accounts that nobody has used for 90 days.'::text,'all-accounts'::text,'{"dormantDays": "90", "isActive": "true"}'::text,'Now'::text), ('Approvals of a period'::text,'Who approved or rejected which requests.'::text,'approvals'::text,'{}'::text,'Last Month'::text), ('Changes of a period'::text,'Who gained and who lost which access.'::text,'access-changes'::text,'{}'::text,'Last Month'::text)) shipped(name, description, list, filters, period)
           WHERE (NOT (EXISTS ( SELECT
                    FROM public.reports r
                   WHERE (lower(r.name) = lower(shipped.name)))));
END;

CREATE FUNCTION public.show_curation(entitlement uuid) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    UPDATE entitlements e
    SET display_name = c.display_name, is_privileged = c.is_privileged, owner_id = c.owner_id, tags = c.tags,
        risk_rating = coalesce(c.risk_rating, s.risk_rating, e.risk_rating),
        first_import = (SELECT min(v.from_import) FROM former_selves(entitlement) AS f JOIN entitlements x ON x.id = f.id
                        CROSS JOIN LATERAL (SELECT from_import FROM permission_versions WHERE x.kind = 'Permission' AND permission_number = x.number
                                            UNION ALL SELECT from_import FROM group_versions WHERE x.kind = 'Group' AND group_number = x.number) AS v)
    FROM curations c JOIN shown_entitlements s ON s.id = c.entitlement_id WHERE e.id = entitlement AND c.entitlement_id = e.id;
    PERFORM rate_groups(ARRAY(
        SELECT e.number FROM entitlements e WHERE e.id = entitlement AND e.kind = 'Group'
        UNION SELECT g.number FROM entitlements e JOIN assignments s ON s.permission_number = e.number AND s.until_import IS NULL
              JOIN groups g ON g.number = s.holder_number WHERE e.id = entitlement AND e.kind = 'Permission'));
END $$;

CREATE FUNCTION public.show_entitlements() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM refresh_entitlements(NEW.application_id, NEW.number::int);
    RETURN NULL;
END $$;

CREATE FUNCTION public.subsets_of(columns text[]) RETURNS TABLE(subset text[])
    LANGUAGE sql IMMUTABLE
    BEGIN ATOMIC
 SELECT COALESCE(( SELECT array_agg(u.name ORDER BY u.n) AS array_agg
            FROM unnest(subsets_of.columns) WITH ORDINALITY u(name, n)
           WHERE (((chosen.chosen >> ((u.n)::integer - 1)) & 1) = 1)), '{}'::text[]) AS "coalesce"
    FROM generate_series(0, ((1 << cardinality(subsets_of.columns)) - 1)) chosen(chosen);
END;

CREATE FUNCTION public.take_chain() RETURNS integer
    LANGUAGE plpgsql
    AS $$
DECLARE
    chains CONSTANT int := audit_chains();
    chain int;
BEGIN
    FOR chain IN 1 .. chains LOOP
        IF pg_try_advisory_xact_lock(hashtext('audit chain'), chain) THEN
            PERFORM set_config('rolecall.chain', chain::text, true);
            RETURN chain;
        END IF;
    END LOOP;
    chain := 1 + floor(random() * chains);
    PERFORM pg_advisory_xact_lock(hashtext('audit chain'), chain);
    PERFORM set_config('rolecall.chain', chain::text, true);
    RETURN chain;
END $$;

CREATE FUNCTION public.take_list(list text) RETURNS boolean
    LANGUAGE sql
    BEGIN ATOMIC
 SELECT ((current_setting('transaction_isolation'::text) = 'read committed'::text) AND pg_try_advisory_xact_lock(hashtext('list'::text), hashtext(list)));
END;

CREATE FUNCTION public.tell(people uuid[], told_kind text, told_item_kind text, told_item uuid, told_part text DEFAULT ''::text) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO notifications (id, identity_id, kind, item_kind, item_id, part, created_date, next_attempt_on)
    SELECT gen_random_uuid(), person, told_kind, told_item_kind, told_item, told_part, written_on(), written_on()
    FROM (SELECT DISTINCT unnest(people) AS person) AS told;
    IF FOUND THEN
        PERFORM pg_notify(notifications_channel(), '');
    END IF;
END $$;

CREATE FUNCTION public.tell_of_assigned_event() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM tell(ARRAY(SELECT person FROM people_to_tell(NEW.assignee_id) AS person WHERE person IS DISTINCT FROM author_id()),
              'Assigned', 'Personnel Event', NEW.id);
    RETURN NULL;
END $$;

CREATE FUNCTION public.tell_of_failed_import() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM tell(ARRAY(SELECT person_or_administrators(a.owner_id) FROM applications a WHERE a.id = NEW.application_id),
              CASE NEW.type WHEN 'Scheduled' THEN 'Schedule Failed' ELSE 'Import Failed' END, 'Import', NEW.id);
    RETURN NULL;
END $$;

CREATE FUNCTION public.tell_of_failing_channel() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM tell(ARRAY(SELECT people_to_tell(administrators_id())), 'Channel Failing', 'Channel', '00000000-0000-0000-0000-000000000000', NEW.channel);
    RETURN NULL;
END $$;

CREATE FUNCTION public.tell_of_failing_webhook() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM tell(ARRAY(SELECT people_to_tell(administrators_id())), 'Webhook Failing', 'Webhook', NEW.id);
    RETURN NULL;
END $$;

CREATE FUNCTION public.tell_of_held_import() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM tell(ARRAY(SELECT person_or_administrators(a.owner_id)
                    FROM application_imports i JOIN applications a ON a.id = i.application_id WHERE i.id = NEW.import_id),
              'Import Held', 'Import', NEW.import_id);
    RETURN NULL;
END $$;

CREATE FUNCTION public.tell_of_moved_requests() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    moved CONSTANT uuid[] := ARRAY(SELECT id FROM (SELECT id, status FROM new_rows EXCEPT SELECT id, status FROM old_rows) AS changed);
BEGIN
    IF cardinality(moved) > 0 THEN
        UPDATE notifications SET is_read = true
        WHERE item_id = ANY (moved) AND NOT is_read AND kind IN ('Waiting', 'Due', 'Escalated', 'Assigned');
        PERFORM tell_waiting(moved, 'Waiting');
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION public.tell_of_personnel_events() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM tell(ARRAY(SELECT people_to_tell(i.supervisor_id) FROM identities i
                    WHERE i.id = NEW.identity_id AND i.supervisor_id IS DISTINCT FROM author_id()), 'Personnel Event', 'Personnel Event', NEW.id, NEW.status);
    RETURN NULL;
END $$;

CREATE FUNCTION public.tell_of_request_events() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM tell_waiting(ARRAY(SELECT request_id FROM new_rows WHERE name = 'AccessRequestCreated'), 'Waiting');
    INSERT INTO notifications (id, identity_id, kind, item_kind, item_id, part, created_date, next_attempt_on)
    SELECT gen_random_uuid(), i.id, told.kind, 'Access Request', told.request_id, told.name, written_on(), written_on()
    FROM (SELECT e.request_id, e.name, e.caller_id, CASE e.name WHEN 'AccessRequestAssigned' THEN 'Assigned' ELSE 'Decided' END AS kind,
                 CASE e.name WHEN 'AccessRequestAssigned' THEN r.assignee_id ELSE r.reporter_id END AS person
          FROM new_rows e JOIN access_requests r ON r.id = e.request_id
          WHERE e.name IN ('AccessRequestAssigned', 'AccessRequestCompleted', 'AccessRequestCanceled')
             -- A request that needs no approval was not approved by anyone.
             OR e.name = 'AccessRequestApproved' AND EXISTS (SELECT FROM responses p WHERE p.request_id = r.id AND p.type = 'Approve')) AS told
    JOIN identities i ON i.id = told.person AND i.status = 'Active' AND i.id <> told.caller_id;
    IF FOUND THEN
        PERFORM pg_notify(notifications_channel(), '');
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION public.tell_waiting(requests uuid[], told_kind text) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO notifications (id, identity_id, kind, item_kind, item_id, part, created_date, next_attempt_on)
    SELECT gen_random_uuid(), asked.person, told_kind, 'Access Request', asked.id, asked.type, written_on(), written_on()
    FROM (SELECT DISTINCT r.id, p.type, to_tell.person
          FROM access_requests r
          JOIN responses p ON p.request_id = r.id AND p.type = awaited_type(r.status) AND p.asked AND p.response = 'Pending'
          CROSS JOIN LATERAL people_to_tell(p.reviewer_id) AS to_tell (person)
          WHERE r.id = ANY (requests) AND to_tell.person <> r.reporter_id AND to_tell.person IS DISTINCT FROM r.identity_id
            AND NOT EXISTS (SELECT FROM responses met WHERE met.request_id = p.request_id AND met.type = p.type
                                                        AND met.rule = p.rule AND met.response = 'Approved')) AS asked;
    IF FOUND THEN
        PERFORM pg_notify(notifications_channel(), '');
    END IF;
END $$;

CREATE FUNCTION public.time_key(moment timestamp with time zone, number bigint) RETURNS text
    LANGUAGE sql IMMUTABLE
    RETURN (COALESCE(lpad((((EXTRACT(epoch FROM ((moment AT TIME ZONE 'UTC'::text) - '0001-01-01 00:00:00'::timestamp without time zone)) * (1000000)::numeric))::bigint)::text, 18, '0'::text), repeat('9'::text, 18)) || lpad((number)::text, 12, '0'::text));

CREATE FUNCTION public.username_skeleton(username text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN rtrim(CASE WHEN (octet_length(username) = char_length(username)) THEN translate(lower((username COLLATE "C")), '01'::text, 'ol'::text) ELSE lower((translate(NORMALIZE(username, NFKC), 'µÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÐÑÒÓÔÕÖØÙÚÛÜÝÞĀĂĄĆĈĊČĎĐĒĔĖĘĚĜĞĠĢĤĦĨĪĬĮıĲĴĶĹĻĽĿŁŃŅŇŊŌŎŐŒŔŖŘŚŜŞŠŢŤŦŨŪŬŮŰŲŴŶŸŹŻŽſƁƂƄƆƇƉƊƋƎƏƐƑƓƔƖƗƘƜƝƟƠƢƤƦƧƩƬƮƯƱƲƳƵƷƸƼǄǅǇǈǊǋǍǏǑǓǕǗǙǛǞǠǢǤǦǨǪǬǮǱǲǴǶǷǸǺǼǾȀȂȄȆȈȊȌȎȐȒȔȖȘȚȜȞȠȢȤȦȨȪȬȮȰȲȺȻȽȾɁɃɄɅɆɈɊɌɎɑɡɩɪʋͅͰͲͶͿΆΈΉΊΌΎΏΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩΪΫαβγεζηικμνορςστυχωϏϐϑϕϖϘϚϜϞϠϢϤϦϨϪϬϮϰϱϲϳϴϵϷϹϺϽϾϿЀЁЂЃЄЅІЇЈЉЊЋЌЍЎЏАБВГДЕЖЗИЙКЛМНОПРСТУФХЦЧШЩЪЫЬЭЮЯавгекмнорстухёѕіїјѠѢѤѦѨѪѬѮѰѲѴѵѶѸѺѼѾҀҊҌҎҐґҒҔҖҘҚҜҞҠҢҤҦҨҪҬҮҰҲҴҶҸҺһҼҾӀӁӃӅӇӉӋӍӏӐӒӔӖӘӚӜӞӠӢӤӦӨӪӬӮӰӲӴӶӸӺӼӾԀԁԂԄԆԈԊԌԎԐԒԔԖԘԚԛԜԝԞԠԢԤԦԨԪԬԮԱԲԳԴԵԶԷԸԹԺԻԼԽԾԿՀՁՂՃՄՅՆՇՈՉՊՋՌՍՎՏՐՑՒՓՔՕՖհոսցօ01'::text, 'màáâãäåæçèéêëìíîïðñòóôõöøùúûüýþāăąćĉċčďđēĕėęěĝğġģĥħĩīĭįiĳĵķĺļľŀłńņňŋōŏőœŕŗřśŝşšţťŧũūŭůűųŵŷÿźżžsɓƃƅɔƈɖɗƌǝəɛƒɠɣiɨƙɯɲɵơƣƥʀƨʃƭʈưʊvƴƶʒƹƽǆǆǉǉǌǌǎǐǒǔǖǘǚǜǟǡǣǥǧǩǫǭǯǳǳǵƕƿǹǻǽǿȁȃȅȇȉȋȍȏȑȓȕȗșțȝȟƞȣȥȧȩȫȭȯȱȳⱥȼƚⱦɂƀʉʌɇɉɋɍɏagiiviͱͳͷjάέήίόύώabyδeznθikλmvξoπpotuφxψwϊϋabyeznikmvopootuxwϗbθφπϙϛϝϟϡϣϥϧϩϫϭϯkpcjθeϸcϻͻͼͽѐëђѓєsiïjљњћќѝўџaбbrдeжзийkлmhoпpctyфxцчшщъыьэюяabrekmhopctyxësiïjѡѣѥѧѩѫѭѯѱѳvvѷѹѻѽѿҁҋҍҏrrғҕҗҙқҝҟҡңҥҧҩҫҭүұҳҵҷҹhhҽҿlӂӄӆӈӊӌӎlӑӓӕӗәӛӝӟӡӣӥӧөӫӭӯӱӳӵӷӹӻӽӿddԃԅԇԉԋԍԏԑԓԕԗԙqqwwԟԡԣԥԧԩԫԭԯաբգդեզէըթժիլխծկhձղճմյնշnչպջռuվտրgւփքoֆhnugool'::text) COLLATE "C")) END, '. '::text);

CREATE TABLE public.permission_values (
    permission_number integer NOT NULL,
    access public.access NOT NULL,
    digest text NOT NULL,
    value text NOT NULL,
    holders bigint NOT NULL
);

CREATE FUNCTION public.usual_value(permission integer, wanted text) RETURNS text
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT found.value
    FROM (unnest(ARRAY[usual_value.wanted, 'Grant'::text, 'Modify'::text, 'Unrestricted'::text]) WITH ORDINALITY a(access, place)
      CROSS JOIN LATERAL ( SELECT v.value
            FROM public.permission_values v
           WHERE ((v.permission_number = usual_value.permission) AND (v.access = (a.access)::public.access) AND (v.holders > 0))
           ORDER BY v.holders DESC, v.digest
          LIMIT 1) found)
   ORDER BY a.place
  LIMIT 1;
END;

CREATE FUNCTION public.webhook_body(id uuid, created timestamp with time zone, event text, request json) RETURNS bytea
    LANGUAGE sql STABLE
    AS $$
    SELECT convert_to(format(
        '{"id":"%s","createdDate":"%s","callback":%s,"event":{"name":"%s","display":"%s","description":"%s","request":%s}}',
        id,
        replace(to_char(created AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US'), '.000000', '') || 'Z',
        to_json(current_setting('rolecall.base_url') || '/webhooks/callback/' || id),
        event,
        event_display(event),
        event_description(event),
        request), 'UTF8')
$$;

CREATE TABLE public.access_model_grants (
    model_id uuid NOT NULL,
    application_id uuid NOT NULL,
    is_group boolean NOT NULL,
    header text NOT NULL,
    section text NOT NULL,
    permission text NOT NULL,
    access text NOT NULL
);

CREATE TABLE public.access_model_members (
    model_id uuid NOT NULL,
    identity_id uuid NOT NULL,
    since timestamp with time zone NOT NULL,
    list_key text NOT NULL COLLATE pg_catalog."C"
);

CREATE VIEW public.access_model_privileges AS
 SELECT g.model_id,
    g.application_id,
    public.group_header(v.nomenclature) AS header,
    g.section,
    g.permission,
    g.access,
    COALESCE(v.description, ''::text) AS description,
    public.privilege_risk(NULL::integer, o.number) AS risk_rating
   FROM ((public.access_model_grants g
     LEFT JOIN public.groups o ON (((o.application_id = g.application_id) AND (o.name = g.permission))))
     LEFT JOIN public.group_versions v ON (((v.group_number = o.number) AND (v.until_import IS NULL))))
  WHERE g.is_group
UNION ALL
 SELECT g.model_id,
    g.application_id,
    g.header,
    g.section,
    g.permission,
    g.access,
    COALESCE(v.description, ''::text) AS description,
    public.privilege_risk(o.number, NULL::integer) AS risk_rating
   FROM ((public.access_model_grants g
     LEFT JOIN public.permissions o ON (((o.application_id = g.application_id) AND (o.header = g.header) AND (o.section = g.section) AND (o.permission = g.permission))))
     LEFT JOIN public.permission_versions v ON (((v.permission_number = o.number) AND (v.until_import IS NULL))))
  WHERE (NOT g.is_group);

CREATE TABLE public.access_model_versions (
    model_id uuid NOT NULL,
    version integer NOT NULL,
    definition jsonb NOT NULL,
    committed_at timestamp with time zone NOT NULL,
    caller_id uuid NOT NULL,
    caller_name text NOT NULL
);

CREATE TABLE public.access_request_events (
    number bigint NOT NULL,
    request_id uuid NOT NULL,
    application_id uuid NOT NULL,
    name text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    caller_id uuid NOT NULL,
    caller_name text NOT NULL,
    request json NOT NULL
);

ALTER TABLE public.access_request_events ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.access_request_events_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.access_requests (
    id uuid NOT NULL,
    number bigint NOT NULL,
    action text NOT NULL,
    status text NOT NULL,
    reporter_id uuid NOT NULL,
    reporter_name text NOT NULL,
    assignee_id uuid,
    assignee_name text,
    target_type text NOT NULL,
    target_name text NOT NULL,
    nomenclature text DEFAULT ''::text NOT NULL,
    identity_id uuid,
    application_id uuid NOT NULL,
    metadata jsonb DEFAULT '[]'::jsonb NOT NULL,
    access_models jsonb DEFAULT '[]'::jsonb NOT NULL,
    scheduled_start timestamp with time zone,
    started_on timestamp with time zone,
    approved_on timestamp with time zone,
    resolved_on timestamp with time zone,
    verified_on timestamp with time zone,
    completed_on timestamp with time zone,
    canceled_on timestamp with time zone,
    snoozed_until timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    status_since timestamp with time zone NOT NULL,
    list_key text GENERATED ALWAYS AS (public.time_key(created_at, number)) STORED NOT NULL COLLATE pg_catalog."C",
    CONSTRAINT action_is_known CHECK ((action = ANY (ARRAY['Add'::text, 'Change'::text, 'Remove'::text, 'Suspend'::text, 'Restore'::text]))),
    CONSTRAINT assignee_is_whole CHECK (((assignee_id IS NULL) = (assignee_name IS NULL))),
    CONSTRAINT status_is_known CHECK ((status = ANY (ARRAY['Pending'::text, 'Open'::text, 'Resolved'::text, 'Completed'::text, 'Canceled'::text, 'Scheduled'::text, 'Snoozed'::text]))),
    CONSTRAINT target_is_a_person_or_a_group CHECK ((target_type =
CASE
    WHEN (identity_id IS NULL) THEN 'Group'::text
    ELSE 'User'::text
END))
);

ALTER TABLE public.access_requests ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.access_requests_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.account_versions (
    account_number integer NOT NULL,
    from_import integer NOT NULL,
    until_import integer,
    name text NOT NULL,
    first_name text NOT NULL,
    last_name text NOT NULL,
    email text NOT NULL,
    employee_id text NOT NULL,
    is_active boolean NOT NULL,
    is_locked boolean NOT NULL,
    last_login text NOT NULL,
    password_changed text NOT NULL,
    metadata text NOT NULL,
    first_name_key text NOT NULL COLLATE pg_catalog."C",
    last_name_key text NOT NULL COLLATE pg_catalog."C"
);

CREATE TABLE public.activity (
    number bigint NOT NULL,
    item_id uuid NOT NULL,
    created_date timestamp with time zone NOT NULL,
    author text NOT NULL,
    action text,
    content text NOT NULL
);

ALTER TABLE public.activity ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.activity_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.application_imports (
    id uuid NOT NULL,
    number bigint NOT NULL,
    application_id uuid NOT NULL,
    type text NOT NULL,
    status text DEFAULT 'Pending'::text NOT NULL,
    created_by text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    build_start timestamp with time zone,
    build_end timestamp with time zone,
    metrics jsonb,
    list_key text COLLATE pg_catalog."C",
    supplied_by uuid,
    failure text,
    CONSTRAINT ended_imports_have_an_end CHECK (((build_end IS NOT NULL) = (status = ANY (ARRAY['Finished'::text, 'Failed'::text, 'Canceled'::text])))),
    CONSTRAINT finished_imports_have_metrics CHECK (((metrics IS NOT NULL) = (status = 'Finished'::text))),
    CONSTRAINT status_is_known CHECK ((status = ANY (ARRAY['Pending'::text, 'Running'::text, 'Finished'::text, 'Failed'::text, 'Canceled'::text, 'Canceling'::text]))),
    CONSTRAINT type_is_known CHECK ((type = ANY (ARRAY['Scheduled'::text, 'Manual'::text, 'API'::text])))
);

ALTER TABLE public.application_imports ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.application_imports_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.application_totals (
    application_id uuid NOT NULL,
    import_number integer NOT NULL,
    accounts integer DEFAULT 0 NOT NULL,
    groups integer DEFAULT 0 NOT NULL,
    memberships integer DEFAULT 0 NOT NULL,
    permissions integer DEFAULT 0 NOT NULL,
    assignments integer DEFAULT 0 NOT NULL,
    identities integer DEFAULT 0 NOT NULL
);

CREATE TABLE public.applications (
    id uuid NOT NULL,
    name text NOT NULL,
    name_key text NOT NULL COLLATE pg_catalog."C",
    priority text DEFAULT 'None'::text NOT NULL,
    is_archived boolean DEFAULT false NOT NULL,
    is_identity_source boolean DEFAULT false NOT NULL,
    last_updated timestamp with time zone NOT NULL,
    owner_id uuid,
    provisioner_ids uuid[] DEFAULT '{}'::uuid[] NOT NULL,
    guard jsonb,
    list_key text GENERATED ALWAYS AS ((("left"(name_key, 300) || chr(1)) || (id)::text)) STORED COLLATE pg_catalog."C",
    CONSTRAINT priority_is_known CHECK ((priority = ANY (ARRAY['None'::text, 'Low'::text, 'Moderate'::text, 'High'::text, 'Critical'::text])))
);

CREATE TABLE public.audit_checkpoints (
    chain integer NOT NULL,
    chains integer[] DEFAULT '{}'::integer[] NOT NULL,
    numbers bigint[] DEFAULT '{}'::bigint[] NOT NULL,
    hashes bytea[] DEFAULT '{}'::bytea[] NOT NULL
)
WITH (fillfactor='20');

CREATE TABLE public.audit_events (
    number bigint NOT NULL,
    chain integer NOT NULL,
    entry text NOT NULL,
    previous bytea NOT NULL,
    hash bytea NOT NULL,
    action_key text GENERATED ALWAYS AS (lower(((entry)::jsonb ->> 'action'::text))) STORED NOT NULL COLLATE pg_catalog."C",
    created_key text GENERATED ALWAYS AS ("left"((rtrim(((entry)::jsonb ->> 'createdDate'::text), 'Z'::text) || '.000000'::text), 26)) STORED NOT NULL COLLATE pg_catalog."C",
    caller_id uuid GENERATED ALWAYS AS ((((entry)::jsonb #>> '{caller,id}'::text[]))::uuid) STORED,
    entity_id uuid GENERATED ALWAYS AS ((((entry)::jsonb #>> '{entity,id}'::text[]))::uuid) STORED NOT NULL,
    list_key text GENERATED ALWAYS AS (lpad((number)::text, 18, '0'::text)) STORED COLLATE pg_catalog."C"
);

ALTER TABLE public.audit_events ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.audit_events_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.audit_heads (
    chain integer NOT NULL,
    number bigint NOT NULL,
    count bigint NOT NULL,
    hash bytea NOT NULL
)
WITH (fillfactor='20');

CREATE UNLOGGED TABLE public.audit_pending (
    number bigint NOT NULL
);

ALTER TABLE public.audit_pending ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.audit_pending_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.comments (
    number bigint NOT NULL,
    item_id uuid NOT NULL,
    created_date timestamp with time zone NOT NULL,
    author text NOT NULL,
    content text NOT NULL
);

ALTER TABLE public.comments ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.comments_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.connectors (
    id uuid NOT NULL,
    application_id uuid NOT NULL,
    name text NOT NULL,
    vendor text NOT NULL,
    is_file_based boolean NOT NULL
);

CREATE TABLE public.console_passwords (
    identity_id uuid NOT NULL,
    argon2 text NOT NULL,
    set_at timestamp with time zone NOT NULL
);

CREATE TABLE public.console_sessions (
    sha256 bytea NOT NULL,
    identity_id uuid NOT NULL,
    created_at timestamp with time zone NOT NULL,
    seen_at timestamp with time zone NOT NULL,
    notice text,
    notice_kind text
);

CREATE TABLE public.dry_run_files (
    id uuid NOT NULL,
    dry_run_id uuid NOT NULL,
    "position" integer NOT NULL,
    file_group text NOT NULL,
    name text NOT NULL,
    sha256 bytea NOT NULL,
    size bigint NOT NULL,
    location text NOT NULL
);

CREATE TABLE public.dry_run_rejects (
    dry_run_id uuid NOT NULL,
    file_id uuid NOT NULL,
    line integer NOT NULL,
    reason text NOT NULL,
    "row" json NOT NULL
);

CREATE TABLE public.dry_runs (
    id uuid NOT NULL,
    application_id uuid,
    draft jsonb NOT NULL,
    proposal jsonb,
    status text NOT NULL,
    created_by text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    caller_id uuid NOT NULL,
    started_at timestamp with time zone,
    ended_at timestamp with time zone,
    attempts integer DEFAULT 0 NOT NULL,
    log text[] DEFAULT '{}'::text[] NOT NULL,
    failure text,
    result jsonb,
    CONSTRAINT dry_run_status_is_known CHECK ((status = ANY (ARRAY['Draft'::text, 'Pending'::text, 'Running'::text, 'Finished'::text, 'Failed'::text])))
);

CREATE TABLE public.event_news (
    number bigint NOT NULL,
    event_id uuid NOT NULL,
    caller_id uuid NOT NULL,
    caller_name text NOT NULL
);

ALTER TABLE public.event_news ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.event_news_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.exports (
    id uuid NOT NULL,
    number bigint NOT NULL,
    list text NOT NULL,
    filters jsonb NOT NULL,
    columns text[] NOT NULL,
    format text NOT NULL,
    status text NOT NULL,
    caller_id uuid NOT NULL,
    caller_kind text NOT NULL,
    caller_name text NOT NULL,
    reason text,
    started_on timestamp with time zone NOT NULL,
    finished_on timestamp with time zone,
    row_count bigint,
    byte_count bigint,
    sha256 bytea,
    list_key text GENERATED ALWAYS AS (public.time_key(started_on, number)) STORED NOT NULL COLLATE pg_catalog."C",
    report_id uuid,
    location text,
    CONSTRAINT finished_is_whole CHECK (((status <> 'Finished'::text) OR ((sha256 IS NOT NULL) AND (row_count IS NOT NULL) AND (byte_count IS NOT NULL)))),
    CONSTRAINT format_is_known CHECK ((format = ANY (ARRAY['csv'::text, 'xlsx'::text, 'jsonl'::text, 'parquet'::text]))),
    CONSTRAINT status_is_known CHECK ((status = ANY (ARRAY['Running'::text, 'Finished'::text, 'Failed'::text, 'Abandoned'::text])))
);

ALTER TABLE public.exports ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.exports_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.file_groups (
    id uuid NOT NULL,
    connector_id uuid NOT NULL,
    "position" integer NOT NULL,
    name text NOT NULL,
    is_optional boolean NOT NULL,
    is_multiple boolean NOT NULL,
    content text NOT NULL,
    columns jsonb NOT NULL,
    encoding text,
    allow_rejects boolean NOT NULL,
    shape jsonb,
    CONSTRAINT content_is_known CHECK ((content = ANY (ARRAY['users'::text, 'groups'::text, 'memberships'::text, 'permissions'::text, 'identities'::text])))
);

CREATE TABLE public.finished_imports (
    import_id uuid NOT NULL,
    application_id uuid NOT NULL
);

CREATE TABLE public.group_listings (
    group_number integer NOT NULL,
    from_import integer NOT NULL,
    until_import integer
);

CREATE TABLE public.heartbeats (
    worker_id uuid NOT NULL,
    started_at timestamp with time zone DEFAULT now() NOT NULL,
    beaten_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE public.holder_counts (
    entitlement_id uuid NOT NULL,
    import_number integer NOT NULL,
    matching bigint NOT NULL,
    accounts integer NOT NULL,
    identities integer NOT NULL
);

CREATE TABLE public.idempotency_keys (
    token_id uuid NOT NULL,
    key text NOT NULL,
    digest bytea NOT NULL,
    status integer,
    answer bytea,
    created_at timestamp with time zone NOT NULL
);

CREATE TABLE public.identities_to_match (
    number bigint NOT NULL,
    identity_id uuid NOT NULL,
    employee_id text,
    email_address text NOT NULL,
    last_name_key text NOT NULL COLLATE pg_catalog."C",
    first_name_key text NOT NULL COLLATE pg_catalog."C"
);

ALTER TABLE public.identities_to_match ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.identities_to_match_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.identity_versions (
    identity_id uuid NOT NULL,
    application_id uuid NOT NULL,
    employee_id text NOT NULL,
    from_import integer NOT NULL,
    until_import integer,
    fields json NOT NULL
);

CREATE TABLE public.import_files (
    id uuid NOT NULL,
    import_id uuid NOT NULL,
    "position" integer NOT NULL,
    file_group_id uuid NOT NULL,
    file_group text NOT NULL,
    name text NOT NULL,
    sha256 bytea NOT NULL,
    size bigint NOT NULL,
    location text NOT NULL
);

CREATE TABLE public.import_log (
    number bigint NOT NULL,
    import_id uuid NOT NULL,
    line text NOT NULL
);

ALTER TABLE public.import_log ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.import_log_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.import_rejects (
    import_id uuid NOT NULL,
    file_id uuid NOT NULL,
    line integer NOT NULL,
    reason text NOT NULL,
    "row" json NOT NULL
);

CREATE TABLE public.import_runs (
    import_id uuid NOT NULL,
    attempts integer DEFAULT 0 NOT NULL,
    held text,
    is_unguarded boolean DEFAULT false NOT NULL,
    rollback_to integer,
    totals jsonb,
    changes jsonb,
    sources jsonb,
    lowers_risk boolean DEFAULT false NOT NULL
);

ALTER TABLE public.list_changes ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.list_changes_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.lists (
    name text NOT NULL,
    facets text[] NOT NULL
);

CREATE TABLE public.matchings (
    application_id uuid NOT NULL,
    number bigint NOT NULL
);

CREATE TABLE public.migrations (
    name text NOT NULL,
    sha256 text NOT NULL,
    applied_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE public.notification_channels (
    channel text NOT NULL,
    failures integer DEFAULT 0 NOT NULL,
    failing_since timestamp with time zone,
    last_error text,
    paused_until timestamp with time zone
);

CREATE TABLE public.notification_messages (
    id uuid NOT NULL,
    number bigint NOT NULL,
    channel text NOT NULL,
    kind text NOT NULL,
    identity_id uuid,
    recipient text NOT NULL,
    address text NOT NULL,
    subject text NOT NULL,
    text text NOT NULL,
    html text NOT NULL,
    attempt integer NOT NULL,
    outcome text DEFAULT 'sending'::text NOT NULL,
    response text,
    started_on timestamp with time zone NOT NULL,
    ended_on timestamp with time zone,
    list_key text GENERATED ALWAYS AS (public.time_key(started_on, number)) STORED NOT NULL COLLATE pg_catalog."C",
    CONSTRAINT channel_is_known CHECK ((channel = ANY (ARRAY['Email'::text, 'Slack'::text, 'Teams'::text]))),
    CONSTRAINT ended_has_an_outcome CHECK (((ended_on IS NULL) = (outcome = 'sending'::text))),
    CONSTRAINT outcome_is_known CHECK ((outcome = ANY (ARRAY['sending'::text, 'sent'::text, 'kept'::text, 'deferred'::text, 'refused'::text, 'channel'::text, 'unknown'::text])))
)
WITH (toast_tuple_target='256');

ALTER TABLE public.notification_messages ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.notification_messages_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.notification_preferences (
    identity_id uuid NOT NULL,
    kind text NOT NULL,
    channel text NOT NULL,
    rhythm text NOT NULL
);

CREATE TABLE public.notification_secrets (
    channel text NOT NULL,
    secret bytea NOT NULL,
    set_on timestamp with time zone NOT NULL
);

CREATE TABLE public.notification_settings (
    name text NOT NULL,
    value jsonb NOT NULL
);

CREATE TABLE public.notification_steps (
    request_id uuid NOT NULL,
    since timestamp with time zone NOT NULL,
    step text NOT NULL
);

CREATE TABLE public.notification_template_faults (
    kind text NOT NULL,
    problem text NOT NULL,
    noticed_on timestamp with time zone NOT NULL
);

CREATE TABLE public.notification_zones (
    identity_id uuid NOT NULL,
    zone text NOT NULL
);

CREATE TABLE public.notifications (
    id uuid NOT NULL,
    number bigint NOT NULL,
    identity_id uuid NOT NULL,
    kind text NOT NULL,
    item_kind text NOT NULL,
    item_id uuid NOT NULL,
    part text DEFAULT ''::text NOT NULL,
    created_date timestamp with time zone NOT NULL,
    is_read boolean DEFAULT false NOT NULL,
    status text DEFAULT 'New'::text NOT NULL,
    channel text,
    bundle text,
    next_attempt_on timestamp with time zone,
    lease uuid,
    step integer DEFAULT 0 NOT NULL,
    message_id uuid,
    list_key text GENERATED ALWAYS AS (public.time_key(created_date, number)) STORED NOT NULL COLLATE pg_catalog."C",
    CONSTRAINT channel_is_known CHECK ((channel = ANY (ARRAY['Email'::text, 'Slack'::text, 'Teams'::text, 'Console'::text]))),
    CONSTRAINT item_kind_is_known CHECK ((item_kind = ANY (ARRAY['Access Request'::text, 'Personnel Event'::text, 'Import'::text, 'Webhook'::text, 'Channel'::text]))),
    CONSTRAINT only_unsent_is_due CHECK (((status = ANY (ARRAY['New'::text, 'Pending'::text])) = (next_attempt_on IS NOT NULL))),
    CONSTRAINT pending_has_a_bundle CHECK (((status <> 'Pending'::text) OR ((bundle IS NOT NULL) AND (channel IS NOT NULL)))),
    CONSTRAINT status_is_known CHECK ((status = ANY (ARRAY['New'::text, 'Pending'::text, 'Sent'::text, 'Failed'::text, 'Withdrawn'::text, 'Console'::text])))
);

ALTER TABLE public.notifications ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.notifications_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.past_model_members (
    identity_id uuid NOT NULL,
    model_id uuid NOT NULL,
    since timestamp with time zone NOT NULL,
    until timestamp with time zone NOT NULL
);

CREATE TABLE public.past_resolutions (
    request_id uuid NOT NULL,
    since timestamp with time zone NOT NULL,
    until timestamp with time zone NOT NULL
);

ALTER TABLE public.permissions ALTER COLUMN number ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.permissions_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.personnel_events (
    id uuid NOT NULL,
    number bigint NOT NULL,
    type text NOT NULL,
    status text DEFAULT 'Scheduled'::text NOT NULL,
    reporter_id uuid NOT NULL,
    reporter_name text NOT NULL,
    assignee_id uuid,
    assignee_name text,
    identity_id uuid NOT NULL,
    changes jsonb DEFAULT '{}'::jsonb NOT NULL,
    custom_fields jsonb DEFAULT '{}'::jsonb NOT NULL,
    needed_on timestamp with time zone NOT NULL,
    needed_until timestamp with time zone,
    completed_on timestamp with time zone,
    list_key text GENERATED ALWAYS AS (public.time_key(needed_on, number)) STORED COLLATE pg_catalog."C",
    CONSTRAINT status_is_known CHECK ((status = ANY (ARRAY['Pending'::text, 'Open'::text, 'Resolved'::text, 'Completed'::text, 'Canceled'::text, 'Scheduled'::text, 'Snoozed'::text]))),
    CONSTRAINT type_is_known CHECK ((type = ANY (ARRAY['Onboard'::text, 'Offboard'::text, 'Role Transition'::text, 'Absence'::text])))
);

ALTER TABLE public.personnel_events ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.personnel_events_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.previewed_changes (
    preview_id uuid NOT NULL,
    "position" bigint NOT NULL,
    kind text NOT NULL,
    change text NOT NULL,
    name text NOT NULL,
    "row" json NOT NULL,
    other json
);

CREATE TABLE public.previews (
    id uuid NOT NULL,
    counts jsonb NOT NULL
);

CREATE TABLE public.privileges (
    request_id uuid NOT NULL,
    "position" integer NOT NULL,
    initial_access text NOT NULL,
    requested_access text NOT NULL,
    approved_access text DEFAULT 'None'::text NOT NULL,
    lowered_access text,
    header text NOT NULL,
    section text NOT NULL,
    permission text NOT NULL,
    description text NOT NULL,
    risk_rating text NOT NULL,
    value text NOT NULL,
    sources text[] NOT NULL,
    origins text[] NOT NULL,
    metadata jsonb DEFAULT '[]'::jsonb NOT NULL,
    CONSTRAINT approved_access_is_known CHECK ((approved_access = ANY (ARRAY['None'::text, 'Unrestricted'::text, 'Grant'::text, 'Deny'::text, 'Modify'::text]))),
    CONSTRAINT initial_access_is_known CHECK ((initial_access = ANY (ARRAY['None'::text, 'Unrestricted'::text, 'Grant'::text, 'Deny'::text, 'Modify'::text]))),
    CONSTRAINT lowered_access_is_known CHECK ((lowered_access = ANY (ARRAY['None'::text, 'Unrestricted'::text, 'Grant'::text, 'Deny'::text, 'Modify'::text]))),
    CONSTRAINT requested_access_is_known CHECK ((requested_access = ANY (ARRAY['None'::text, 'Unrestricted'::text, 'Grant'::text, 'Deny'::text, 'Modify'::text]))),
    CONSTRAINT risk_rating_is_known CHECK ((risk_rating = ANY (ARRAY['None'::text, 'Low'::text, 'Moderate'::text, 'High'::text, 'Critical'::text])))
);

CREATE TABLE public.related_items (
    request_id uuid NOT NULL,
    item_id uuid NOT NULL,
    kind text NOT NULL,
    number bigint NOT NULL,
    status text NOT NULL,
    stage text,
    CONSTRAINT kind_is_known CHECK ((kind = ANY (ARRAY['Review Item'::text, 'Personnel Event'::text])))
);

CREATE TABLE public.report_firings (
    report_id uuid NOT NULL,
    fired_at timestamp with time zone NOT NULL,
    run_id uuid,
    attempts integer DEFAULT 0 NOT NULL
);

CREATE TABLE public.request_times (
    method text NOT NULL,
    route text NOT NULL,
    status integer NOT NULL,
    within double precision NOT NULL,
    requests bigint NOT NULL,
    seconds double precision NOT NULL
)
WITH (fillfactor='50');

CREATE TABLE public.responses (
    request_id uuid NOT NULL,
    type text NOT NULL,
    rule integer NOT NULL,
    "position" integer NOT NULL,
    reason text NOT NULL,
    reviewer_id uuid NOT NULL,
    reviewer_name text NOT NULL,
    response text DEFAULT 'Pending'::text NOT NULL,
    asked boolean DEFAULT true NOT NULL,
    CONSTRAINT response_is_known CHECK ((response = ANY (ARRAY['Pending'::text, 'Approved'::text, 'Rejected'::text]))),
    CONSTRAINT type_is_known CHECK ((type = ANY (ARRAY['Approve'::text, 'Resolve'::text, 'Verify'::text])))
);

CREATE TABLE public.schedule_firings (
    application_id uuid NOT NULL,
    fired_at timestamp with time zone NOT NULL,
    skipped bigint DEFAULT 0 NOT NULL
);

CREATE TABLE public.schedules (
    application_id uuid NOT NULL,
    cron text NOT NULL,
    locations jsonb NOT NULL
);

CREATE TABLE public.schema_files (
    name text NOT NULL,
    sha256 text NOT NULL,
    version integer[] NOT NULL,
    objects text[] NOT NULL,
    applied_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE public.settings (
    name text NOT NULL,
    value jsonb NOT NULL
);

CREATE TABLE public.settled_pages (
    list text NOT NULL COLLATE pg_catalog."C",
    page integer NOT NULL,
    total bigint NOT NULL,
    key text[] COLLATE pg_catalog."C",
    found_on timestamp with time zone NOT NULL
);

CREATE VIEW public.shown_entitlements AS
 SELECT p.id,
    'Permission'::text AS kind,
    p.number,
    p.application_id,
    p.header,
    p.section,
    p.permission AS name,
    last.description,
    last.until_import,
    last.risk_rating
   FROM (public.permissions p
     CROSS JOIN LATERAL ( SELECT v.permission_number,
            v.from_import,
            v.until_import,
            v.description,
            v.risk_rating
           FROM public.permission_versions v
          WHERE (v.permission_number = p.number)
          ORDER BY v.from_import DESC
         LIMIT 1) last)
UNION ALL
 SELECT g.id,
    'Group'::text AS kind,
    g.number,
    g.application_id,
    public.group_header(last.nomenclature) AS header,
    ''::text AS section,
    g.name,
    last.description,
    last.until_import,
    NULL::text AS risk_rating
   FROM (public.groups g
     CROSS JOIN LATERAL ( SELECT v.group_number,
            v.from_import,
            v.until_import,
            v.description,
            v.nomenclature,
            v.parent,
            v.metadata
           FROM public.group_versions v
          WHERE (v.group_number = g.number)
          ORDER BY v.from_import DESC
         LIMIT 1) last);

CREATE TABLE public.sign_in_attempts (
    sha256 bytea NOT NULL,
    nonce text NOT NULL,
    verifier text NOT NULL,
    next text NOT NULL,
    expires_at timestamp with time zone NOT NULL
);

CREATE TABLE public.sign_in_links (
    sha256 bytea NOT NULL,
    identity_id uuid NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    used_at timestamp with time zone
);

CREATE TABLE public.stages (
    event_id uuid NOT NULL,
    sequence integer NOT NULL,
    name text NOT NULL,
    status text NOT NULL,
    started_on timestamp with time zone,
    scheduled_start timestamp with time zone,
    completed_on timestamp with time zone,
    completed_by_id uuid,
    completed_by_name text,
    CONSTRAINT name_is_known CHECK ((name = ANY (ARRAY['Approval'::text, 'Provision'::text, 'Verification'::text, 'Transition'::text, 'Removal'::text]))),
    CONSTRAINT status_is_known CHECK ((status = ANY (ARRAY['Open'::text, 'Completed'::text, 'Canceled'::text, 'Scheduled'::text, 'Snoozed'::text])))
);

CREATE TABLE public.tokens (
    id uuid NOT NULL,
    public_id text NOT NULL,
    secret_sha256 bytea NOT NULL,
    name text NOT NULL,
    scopes text[] NOT NULL,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone,
    last_used_at timestamp with time zone,
    revoked_at timestamp with time zone,
    owner_id uuid
);

CREATE TABLE public.waiting_requests (
    request_id uuid NOT NULL,
    list_key text NOT NULL COLLATE pg_catalog."C"
);

CREATE TABLE public.webhook_attempts (
    delivery_id uuid NOT NULL,
    number integer NOT NULL,
    started_on timestamp with time zone NOT NULL,
    ended_on timestamp with time zone,
    outcome text,
    status_code integer,
    response text,
    CONSTRAINT ended_has_an_outcome CHECK (((ended_on IS NULL) = (outcome IS NULL))),
    CONSTRAINT outcome_is_known CHECK ((outcome = ANY (ARRAY['delivered'::text, 'status'::text, 'timeout'::text, 'connect'::text, 'dns'::text, 'tls'::text, 'blocked'::text, 'unknown'::text])))
);

CREATE TABLE public.webhook_callbacks (
    delivery_id uuid NOT NULL,
    sha256 bytea NOT NULL,
    number bigint NOT NULL,
    received_on timestamp with time zone NOT NULL,
    content text NOT NULL
);

ALTER TABLE public.webhook_callbacks ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.webhook_callbacks_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.webhook_deliveries (
    id uuid NOT NULL,
    number bigint NOT NULL,
    webhook_id uuid NOT NULL,
    access_request_id uuid,
    event text NOT NULL,
    status text NOT NULL,
    body bytea NOT NULL,
    created_date timestamp with time zone NOT NULL,
    attempt_count integer DEFAULT 0 NOT NULL,
    step integer DEFAULT 0 NOT NULL,
    untried boolean DEFAULT true NOT NULL,
    next_attempt_on timestamp with time zone,
    lease uuid,
    list_key text GENERATED ALWAYS AS (public.time_key(created_date, number)) STORED COLLATE pg_catalog."C",
    CONSTRAINT only_pending_is_due CHECK (((status = 'Pending'::text) = (next_attempt_on IS NOT NULL))),
    CONSTRAINT status_is_known CHECK ((status = ANY (ARRAY['Pending'::text, 'Delivered'::text, 'Failed'::text, 'Parked'::text])))
)
WITH (toast_tuple_target='256');

ALTER TABLE public.webhook_deliveries ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.webhook_deliveries_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.webhook_tallies (
    outcome text NOT NULL,
    within double precision NOT NULL,
    shard integer NOT NULL,
    attempts bigint NOT NULL,
    seconds double precision NOT NULL
);

CREATE TABLE public.webhooks (
    id uuid NOT NULL,
    name text NOT NULL,
    url text NOT NULL,
    events text[] NOT NULL,
    application_id uuid,
    enabled boolean NOT NULL,
    disabled_reason text,
    created_date timestamp with time zone NOT NULL,
    secret bytea NOT NULL,
    previous_secret bytea,
    previous_secret_expires_on timestamp with time zone,
    failures integer DEFAULT 0 NOT NULL,
    failing_since timestamp with time zone,
    deleted_on timestamp with time zone,
    CONSTRAINT deleted_is_disabled CHECK (((deleted_on IS NULL) OR (NOT enabled))),
    CONSTRAINT reason_is_known CHECK ((disabled_reason = ANY (ARRAY['Gone'::text, 'Failing'::text]))),
    CONSTRAINT reason_is_of_a_disabled_one CHECK (((disabled_reason IS NULL) OR (NOT enabled)))
);

ALTER TABLE ONLY public.access_model_grants
    ADD CONSTRAINT access_model_grants_pkey PRIMARY KEY (model_id, application_id, is_group, header, section, permission);

ALTER TABLE ONLY public.access_model_members
    ADD CONSTRAINT access_model_members_pkey PRIMARY KEY (model_id, identity_id);

ALTER TABLE ONLY public.access_model_versions
    ADD CONSTRAINT access_model_versions_pkey PRIMARY KEY (model_id, version);

ALTER TABLE ONLY public.access_models
    ADD CONSTRAINT access_models_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.access_request_events
    ADD CONSTRAINT access_request_events_pkey PRIMARY KEY (number);

ALTER TABLE ONLY public.access_requests
    ADD CONSTRAINT access_requests_number_key UNIQUE (number);

ALTER TABLE ONLY public.access_requests
    ADD CONSTRAINT access_requests_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.account_versions
    ADD CONSTRAINT account_versions_pkey PRIMARY KEY (account_number, from_import);

ALTER TABLE ONLY public.accounts
    ADD CONSTRAINT accounts_application_id_username_key UNIQUE (application_id, username);

ALTER TABLE ONLY public.accounts
    ADD CONSTRAINT accounts_id_key UNIQUE (id);

ALTER TABLE ONLY public.accounts
    ADD CONSTRAINT accounts_pkey PRIMARY KEY (number);

ALTER TABLE ONLY public.activity
    ADD CONSTRAINT activity_pkey PRIMARY KEY (number);

ALTER TABLE ONLY public.application_imports
    ADD CONSTRAINT application_imports_number_key UNIQUE (number);

ALTER TABLE ONLY public.application_imports
    ADD CONSTRAINT application_imports_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.application_totals
    ADD CONSTRAINT application_totals_pkey PRIMARY KEY (application_id);

ALTER TABLE ONLY public.applications
    ADD CONSTRAINT applications_name_key UNIQUE (name);

ALTER TABLE ONLY public.applications
    ADD CONSTRAINT applications_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.assignments
    ADD CONSTRAINT assignments_pkey PRIMARY KEY (holder_number, permission_number, from_import);

ALTER TABLE ONLY public.audit_checkpoints
    ADD CONSTRAINT audit_checkpoints_pkey PRIMARY KEY (chain);

ALTER TABLE ONLY public.audit_events
    ADD CONSTRAINT audit_events_pkey PRIMARY KEY (number);

ALTER TABLE ONLY public.audit_heads
    ADD CONSTRAINT audit_heads_pkey PRIMARY KEY (chain);

ALTER TABLE ONLY public.audit_pending
    ADD CONSTRAINT audit_pending_pkey PRIMARY KEY (number);

ALTER TABLE ONLY public.comments
    ADD CONSTRAINT comments_pkey PRIMARY KEY (number);

ALTER TABLE ONLY public.connectors
    ADD CONSTRAINT connectors_application_id_key UNIQUE (application_id);

ALTER TABLE ONLY public.connectors
    ADD CONSTRAINT connectors_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.console_passwords
    ADD CONSTRAINT console_passwords_pkey PRIMARY KEY (identity_id);

ALTER TABLE ONLY public.console_roles
    ADD CONSTRAINT console_roles_pkey PRIMARY KEY (identity_id);

ALTER TABLE ONLY public.console_sessions
    ADD CONSTRAINT console_sessions_pkey PRIMARY KEY (sha256);

ALTER TABLE ONLY public.curations
    ADD CONSTRAINT curations_pkey PRIMARY KEY (entitlement_id);

ALTER TABLE ONLY public.dry_run_files
    ADD CONSTRAINT dry_run_files_dry_run_id_position_key UNIQUE (dry_run_id, "position");

ALTER TABLE ONLY public.dry_run_files
    ADD CONSTRAINT dry_run_files_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.dry_run_rejects
    ADD CONSTRAINT dry_run_rejects_pkey PRIMARY KEY (dry_run_id, file_id, line);

ALTER TABLE ONLY public.dry_runs
    ADD CONSTRAINT dry_runs_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.entitlements
    ADD CONSTRAINT entitlements_kind_number_key UNIQUE (kind, number);

ALTER TABLE ONLY public.entitlements
    ADD CONSTRAINT entitlements_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.event_news
    ADD CONSTRAINT event_news_pkey PRIMARY KEY (number);

ALTER TABLE ONLY public.exports
    ADD CONSTRAINT exports_number_key UNIQUE (number);

ALTER TABLE ONLY public.exports
    ADD CONSTRAINT exports_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.file_groups
    ADD CONSTRAINT file_groups_connector_id_name_key UNIQUE (connector_id, name);

ALTER TABLE ONLY public.file_groups
    ADD CONSTRAINT file_groups_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.finished_imports
    ADD CONSTRAINT finished_imports_pkey PRIMARY KEY (import_id);

ALTER TABLE ONLY public.group_listings
    ADD CONSTRAINT group_listings_pkey PRIMARY KEY (group_number, from_import);

ALTER TABLE ONLY public.group_versions
    ADD CONSTRAINT group_versions_pkey PRIMARY KEY (group_number, from_import);

ALTER TABLE ONLY public.groups
    ADD CONSTRAINT groups_application_id_name_key UNIQUE (application_id, name);

ALTER TABLE ONLY public.groups
    ADD CONSTRAINT groups_id_key UNIQUE (id);

ALTER TABLE ONLY public.groups
    ADD CONSTRAINT groups_pkey PRIMARY KEY (number);

ALTER TABLE ONLY public.heartbeats
    ADD CONSTRAINT heartbeats_pkey PRIMARY KEY (worker_id);

ALTER TABLE ONLY public.holder_counts
    ADD CONSTRAINT holder_counts_pkey PRIMARY KEY (entitlement_id);

ALTER TABLE ONLY public.idempotency_keys
    ADD CONSTRAINT idempotency_keys_pkey PRIMARY KEY (token_id, key);

ALTER TABLE ONLY public.identities
    ADD CONSTRAINT identities_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.identities_to_match
    ADD CONSTRAINT identities_to_match_pkey PRIMARY KEY (number);

ALTER TABLE ONLY public.identity_versions
    ADD CONSTRAINT identity_versions_pkey PRIMARY KEY (identity_id, application_id, from_import);

ALTER TABLE ONLY public.import_files
    ADD CONSTRAINT import_files_import_id_position_key UNIQUE (import_id, "position");

ALTER TABLE ONLY public.import_files
    ADD CONSTRAINT import_files_location_key UNIQUE (location);

ALTER TABLE ONLY public.import_files
    ADD CONSTRAINT import_files_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.import_log
    ADD CONSTRAINT import_log_pkey PRIMARY KEY (number);

ALTER TABLE ONLY public.import_rejects
    ADD CONSTRAINT import_rejects_pkey PRIMARY KEY (import_id, file_id, line);

ALTER TABLE ONLY public.import_runs
    ADD CONSTRAINT import_runs_pkey PRIMARY KEY (import_id);

ALTER TABLE ONLY public.list_contents
    ADD CONSTRAINT list_contents_pkey PRIMARY KEY (list, facet);

ALTER TABLE ONLY public.lists
    ADD CONSTRAINT lists_pkey PRIMARY KEY (name);

ALTER TABLE ONLY public.matchings
    ADD CONSTRAINT matchings_pkey PRIMARY KEY (application_id);

ALTER TABLE ONLY public.memberships
    ADD CONSTRAINT memberships_pkey PRIMARY KEY (account_number, group_number, from_import);

ALTER TABLE ONLY public.migrations
    ADD CONSTRAINT migrations_pkey PRIMARY KEY (name);

ALTER TABLE ONLY public.notification_channels
    ADD CONSTRAINT notification_channels_pkey PRIMARY KEY (channel);

ALTER TABLE ONLY public.notification_messages
    ADD CONSTRAINT notification_messages_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.notification_preferences
    ADD CONSTRAINT notification_preferences_pkey PRIMARY KEY (identity_id, kind);

ALTER TABLE ONLY public.notification_secrets
    ADD CONSTRAINT notification_secrets_pkey PRIMARY KEY (channel);

ALTER TABLE ONLY public.notification_settings
    ADD CONSTRAINT notification_settings_pkey PRIMARY KEY (name);

ALTER TABLE ONLY public.notification_steps
    ADD CONSTRAINT notification_steps_pkey PRIMARY KEY (request_id, since, step);

ALTER TABLE ONLY public.notification_template_faults
    ADD CONSTRAINT notification_template_faults_pkey PRIMARY KEY (kind);

ALTER TABLE ONLY public.notification_zones
    ADD CONSTRAINT notification_zones_pkey PRIMARY KEY (identity_id);

ALTER TABLE ONLY public.notifications
    ADD CONSTRAINT notifications_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.past_matches
    ADD CONSTRAINT past_matches_pkey PRIMARY KEY (account_number, since);

ALTER TABLE ONLY public.past_model_members
    ADD CONSTRAINT past_model_members_pkey PRIMARY KEY (identity_id, model_id, since);

ALTER TABLE ONLY public.past_resolutions
    ADD CONSTRAINT past_resolutions_pkey PRIMARY KEY (request_id, since);

ALTER TABLE ONLY public.permission_values
    ADD CONSTRAINT permission_values_pkey PRIMARY KEY (permission_number, access, digest);

ALTER TABLE ONLY public.permission_versions
    ADD CONSTRAINT permission_versions_pkey PRIMARY KEY (permission_number, from_import);

ALTER TABLE ONLY public.permissions
    ADD CONSTRAINT permissions_id_key UNIQUE (id);

ALTER TABLE ONLY public.permissions
    ADD CONSTRAINT permissions_pkey PRIMARY KEY (number);

ALTER TABLE ONLY public.personnel_events
    ADD CONSTRAINT personnel_events_number_key UNIQUE (number);

ALTER TABLE ONLY public.personnel_events
    ADD CONSTRAINT personnel_events_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.previewed_changes
    ADD CONSTRAINT previewed_changes_pkey PRIMARY KEY (preview_id, "position");

ALTER TABLE ONLY public.previews
    ADD CONSTRAINT previews_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.privileges
    ADD CONSTRAINT privileges_pkey PRIMARY KEY (request_id, "position");

ALTER TABLE ONLY public.related_items
    ADD CONSTRAINT related_items_pkey PRIMARY KEY (request_id, item_id);

ALTER TABLE ONLY public.report_firings
    ADD CONSTRAINT report_firings_pkey PRIMARY KEY (report_id);

ALTER TABLE ONLY public.reports
    ADD CONSTRAINT reports_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.request_times
    ADD CONSTRAINT request_times_pkey PRIMARY KEY (method, route, status, within);

ALTER TABLE ONLY public.responses
    ADD CONSTRAINT responses_pkey PRIMARY KEY (request_id, type, rule, "position");

ALTER TABLE ONLY public.schedule_firings
    ADD CONSTRAINT schedule_firings_pkey PRIMARY KEY (application_id);

ALTER TABLE ONLY public.schedules
    ADD CONSTRAINT schedules_pkey PRIMARY KEY (application_id);

ALTER TABLE ONLY public.schema_files
    ADD CONSTRAINT schema_files_pkey PRIMARY KEY (name);

ALTER TABLE ONLY public.settings
    ADD CONSTRAINT settings_pkey PRIMARY KEY (name);

ALTER TABLE ONLY public.settled_pages
    ADD CONSTRAINT settled_pages_pkey PRIMARY KEY (list, page);

ALTER TABLE ONLY public.sign_in_attempts
    ADD CONSTRAINT sign_in_attempts_pkey PRIMARY KEY (sha256);

ALTER TABLE ONLY public.sign_in_links
    ADD CONSTRAINT sign_in_links_pkey PRIMARY KEY (sha256);

ALTER TABLE ONLY public.stages
    ADD CONSTRAINT stages_pkey PRIMARY KEY (event_id, sequence);

ALTER TABLE ONLY public.tokens
    ADD CONSTRAINT tokens_name_key UNIQUE (name);

ALTER TABLE ONLY public.tokens
    ADD CONSTRAINT tokens_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.tokens
    ADD CONSTRAINT tokens_public_id_key UNIQUE (public_id);

ALTER TABLE ONLY public.waiting_requests
    ADD CONSTRAINT waiting_requests_pkey PRIMARY KEY (request_id);

ALTER TABLE ONLY public.webhook_attempts
    ADD CONSTRAINT webhook_attempts_pkey PRIMARY KEY (delivery_id, number);

ALTER TABLE ONLY public.webhook_callbacks
    ADD CONSTRAINT webhook_callbacks_pkey PRIMARY KEY (delivery_id, sha256);

ALTER TABLE ONLY public.webhook_deliveries
    ADD CONSTRAINT webhook_deliveries_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.webhook_tallies
    ADD CONSTRAINT webhook_tallies_pkey PRIMARY KEY (outcome, within, shard);

ALTER TABLE ONLY public.webhooks
    ADD CONSTRAINT webhooks_pkey PRIMARY KEY (id);

CREATE INDEX access_model_grants_application_id_permission_idx ON public.access_model_grants USING btree (application_id, permission);

CREATE INDEX access_model_members_identity_id_idx ON public.access_model_members USING btree (identity_id);

CREATE INDEX access_model_members_listed_model_id ON public.access_model_members USING btree (model_id, list_key);

CREATE INDEX access_models_in_order ON public.access_models USING btree (name_key, id);

CREATE UNIQUE INDEX access_models_name_idx ON public.access_models USING btree (name);

CREATE INDEX access_request_events_request_id_number_idx ON public.access_request_events USING btree (request_id, number);

CREATE INDEX access_requests_application_id_target_name_list_key_idx ON public.access_requests USING btree (application_id, target_name, list_key);

CREATE INDEX access_requests_identity_id_list_key_idx ON public.access_requests USING btree (identity_id, list_key);

CREATE UNIQUE INDEX access_requests_listed_ ON public.access_requests USING btree (list_key);

CREATE INDEX access_requests_listed_action ON public.access_requests USING btree (action, list_key);

CREATE INDEX access_requests_listed_application_id ON public.access_requests USING btree (application_id, list_key);

CREATE INDEX access_requests_listed_application_id_action ON public.access_requests USING btree (application_id, action, list_key);

CREATE INDEX access_requests_listed_application_id_status ON public.access_requests USING btree (application_id, status, list_key);

CREATE INDEX access_requests_listed_application_id_status_action ON public.access_requests USING btree (application_id, status, action, list_key);

CREATE INDEX access_requests_listed_status ON public.access_requests USING btree (status, list_key);

CREATE INDEX access_requests_listed_status_action ON public.access_requests USING btree (status, action, list_key);

CREATE INDEX access_requests_reporter_id_list_key_idx ON public.access_requests USING btree (reporter_id, list_key);

CREATE INDEX access_requests_to_start ON public.access_requests USING btree (scheduled_start) WHERE (status = 'Scheduled'::text);

CREATE INDEX access_requests_to_wake ON public.access_requests USING btree (snoozed_until) WHERE (status = 'Snoozed'::text);

CREATE INDEX account_versions_by_email ON public.account_versions USING btree (lower(email)) WHERE ((until_import IS NULL) AND (email <> ''::text));

CREATE INDEX account_versions_by_employee_id ON public.account_versions USING btree (lower(employee_id)) WHERE ((until_import IS NULL) AND (employee_id <> ''::text));

CREATE INDEX account_versions_by_last_login ON public.account_versions USING btree (last_login) WHERE ((until_import IS NULL) AND (last_login <> ''::text));

CREATE INDEX account_versions_by_name ON public.account_versions USING btree (last_name_key, first_name_key) WHERE ((until_import IS NULL) AND (last_name_key <> ''::text));

CREATE INDEX account_versions_from_import_idx ON public.account_versions USING btree (from_import);

CREATE INDEX account_versions_until_import_idx ON public.account_versions USING btree (until_import) WHERE (until_import IS NOT NULL);

CREATE INDEX accounts_application_id_match_username_idx ON public.accounts USING btree (application_id, match, username);

CREATE INDEX accounts_by_skeleton ON public.accounts USING btree (application_id, public.username_skeleton(username));

CREATE INDEX accounts_identity_id_idx ON public.accounts USING btree (identity_id) WHERE (identity_id IS NOT NULL);

CREATE INDEX accounts_without_identity ON public.accounts USING btree (match) WHERE (match = ANY (ARRAY['Unmatched'::text, 'Disputed'::text]));

CREATE INDEX activity_item_id_number_idx ON public.activity USING btree (item_id, number);

CREATE INDEX application_imports_at_work ON public.application_imports USING btree (status, number) WHERE (status = ANY (ARRAY['Pending'::text, 'Running'::text, 'Canceling'::text]));

CREATE INDEX application_imports_by_number ON public.application_imports USING btree (application_id, number);

CREATE INDEX application_imports_finished ON public.application_imports USING btree (application_id, number) WHERE (status = 'Finished'::text);

CREATE UNIQUE INDEX application_imports_listed_ ON public.application_imports USING btree (list_key);

CREATE INDEX application_imports_listed_application_id ON public.application_imports USING btree (application_id, list_key);

CREATE UNIQUE INDEX applications_listed_ ON public.applications USING btree (list_key);

CREATE INDEX assignments_by_permission ON public.assignments USING btree (permission_number);

CREATE INDEX assignments_from_import_idx ON public.assignments USING brin (from_import);

CREATE INDEX assignments_until_import_idx ON public.assignments USING btree (until_import) WHERE (until_import IS NOT NULL);

CREATE INDEX audit_events_action_key_list_key_idx ON public.audit_events USING btree (action_key, list_key);

CREATE INDEX audit_events_caller_id_list_key_idx ON public.audit_events USING btree (caller_id, list_key);

CREATE INDEX audit_events_created_key_number_idx ON public.audit_events USING btree (created_key, number);

CREATE INDEX audit_events_entity_id_list_key_idx ON public.audit_events USING btree (entity_id, list_key);

CREATE UNIQUE INDEX audit_events_listed_ ON public.audit_events USING btree (list_key);

CREATE INDEX comments_item_id_number_idx ON public.comments USING btree (item_id, number);

CREATE INDEX console_sessions_identity_id_idx ON public.console_sessions USING btree (identity_id);

CREATE INDEX console_sessions_seen_at_idx ON public.console_sessions USING btree (seen_at);

CREATE INDEX curations_changed_on_idx ON public.curations USING btree (changed_on);

CREATE INDEX curations_same_as_idx ON public.curations USING btree (same_as) WHERE (same_as IS NOT NULL);

CREATE INDEX dry_run_files_location_idx ON public.dry_run_files USING btree (location);

CREATE INDEX dry_runs_at_work ON public.dry_runs USING btree (created_at) WHERE (status = ANY (ARRAY['Pending'::text, 'Running'::text]));

CREATE INDEX dry_runs_by_age ON public.dry_runs USING btree (created_at);

CREATE UNIQUE INDEX entitlements_by_name ON public.entitlements USING btree (name_key);

CREATE INDEX entitlements_is_privileged_list_key_idx ON public.entitlements USING btree (is_privileged, list_key) WHERE is_privileged;

CREATE UNIQUE INDEX entitlements_listed_ ON public.entitlements USING btree (list_key);

CREATE INDEX entitlements_listed_application_id ON public.entitlements USING btree (application_id, list_key);

CREATE INDEX entitlements_listed_application_id_kind ON public.entitlements USING btree (application_id, kind, list_key);

CREATE INDEX entitlements_listed_application_id_kind_risk_rating ON public.entitlements USING btree (application_id, kind, risk_rating, list_key);

CREATE INDEX entitlements_listed_application_id_risk_rating ON public.entitlements USING btree (application_id, risk_rating, list_key);

CREATE INDEX entitlements_listed_kind ON public.entitlements USING btree (kind, list_key);

CREATE INDEX entitlements_listed_kind_risk_rating ON public.entitlements USING btree (kind, risk_rating, list_key);

CREATE INDEX entitlements_listed_risk_rating ON public.entitlements USING btree (risk_rating, list_key);

CREATE INDEX entitlements_owner_id_list_key_idx ON public.entitlements USING btree (owner_id, list_key) WHERE (owner_id IS NOT NULL);

CREATE INDEX entitlements_tags_idx ON public.entitlements USING gin (tags) WHERE (tags <> '{}'::text[]);

CREATE INDEX event_news_event_id_idx ON public.event_news USING btree (event_id);

CREATE INDEX exports_caller_id_list_key_idx ON public.exports USING btree (caller_id, list_key);

CREATE UNIQUE INDEX exports_listed_ ON public.exports USING btree (list_key);

CREATE INDEX exports_report_id_list_key_idx ON public.exports USING btree (report_id, list_key);

CREATE INDEX exports_running ON public.exports USING btree (started_on) WHERE (status = 'Running'::text);

CREATE INDEX group_listings_from_import_idx ON public.group_listings USING btree (from_import);

CREATE INDEX group_listings_until_import_idx ON public.group_listings USING btree (until_import) WHERE (until_import IS NOT NULL);

CREATE INDEX group_versions_by_parent ON public.group_versions USING btree (public.in_any_case(parent)) WHERE (parent <> ''::text);

CREATE INDEX group_versions_from_import_idx ON public.group_versions USING btree (from_import);

CREATE INDEX group_versions_until_import_idx ON public.group_versions USING btree (until_import) WHERE (until_import IS NOT NULL);

CREATE INDEX groups_in_any_case ON public.groups USING btree (application_id, public.in_any_case(name));

CREATE INDEX idempotency_keys_created_at_idx ON public.idempotency_keys USING btree (created_at);

CREATE INDEX identities_by_department ON public.identities USING btree (lower(department), list_key) WHERE (department <> ''::text);

CREATE INDEX identities_by_email_beginning ON public.identities USING btree (lower(email_address) COLLATE "C") WHERE (email_address <> ''::text);

CREATE INDEX identities_by_first_name ON public.identities USING btree ("left"(first_name_key, 300), list_key);

CREATE UNIQUE INDEX identities_employee_id_idx ON public.identities USING btree (employee_id);

CREATE INDEX identities_left ON public.identities USING btree (status, list_key) WHERE (status <> 'Active'::text);

CREATE UNIQUE INDEX identities_listed_ ON public.identities USING btree (list_key);

CREATE INDEX identities_lower_idx ON public.identities USING btree (lower(email_address)) WHERE (email_address <> ''::text);

CREATE INDEX identities_lower_idx1 ON public.identities USING btree (lower(employee_id)) WHERE (employee_id IS NOT NULL);

CREATE INDEX identities_supervisor_id_idx ON public.identities USING btree (supervisor_id);

CREATE INDEX identity_versions_application_id_employee_id_idx ON public.identity_versions USING btree (application_id, employee_id) WHERE (until_import IS NULL);

CREATE INDEX identity_versions_from_import_idx ON public.identity_versions USING btree (from_import);

CREATE INDEX identity_versions_until_import_idx ON public.identity_versions USING btree (until_import) WHERE (until_import IS NOT NULL);

CREATE INDEX import_log_import_id_number_idx ON public.import_log USING btree (import_id, number);

CREATE INDEX list_changes_list_idx ON public.list_changes USING btree (list);

CREATE INDEX memberships_from_import_idx ON public.memberships USING brin (from_import);

CREATE INDEX memberships_group_number_idx ON public.memberships USING btree (group_number);

CREATE INDEX memberships_until_import_idx ON public.memberships USING btree (until_import) WHERE (until_import IS NOT NULL);

CREATE UNIQUE INDEX notification_messages_listed_ ON public.notification_messages USING btree (list_key);

CREATE INDEX notification_messages_listed_outcome ON public.notification_messages USING btree (outcome, list_key);

CREATE INDEX notifications_bundled ON public.notifications USING btree (bundle) WHERE (status = 'Pending'::text);

CREATE INDEX notifications_due ON public.notifications USING btree (next_attempt_on, number) WHERE (status = 'Pending'::text);

CREATE UNIQUE INDEX notifications_listed_ ON public.notifications USING btree (list_key);

CREATE INDEX notifications_listed_identity_id ON public.notifications USING btree (identity_id, list_key);

CREATE INDEX notifications_listed_identity_id_is_read ON public.notifications USING btree (identity_id, is_read, list_key);

CREATE INDEX notifications_listed_is_read ON public.notifications USING btree (is_read, list_key);

CREATE INDEX notifications_new ON public.notifications USING btree (number) WHERE (status = 'New'::text);

CREATE INDEX notifications_unread ON public.notifications USING btree (item_id) WHERE (NOT is_read);

CREATE UNIQUE INDEX one_role_an_address ON public.console_roles USING btree (lower(email)) WHERE (email <> ''::text);

CREATE INDEX past_matches_by_since ON public.past_matches USING btree (since);

CREATE INDEX past_matches_by_until ON public.past_matches USING btree (until);

CREATE INDEX past_matches_identity_id_idx ON public.past_matches USING btree (identity_id);

CREATE INDEX permission_values_by_use ON public.permission_values USING btree (permission_number, access, holders DESC, digest);

CREATE INDEX permission_versions_from_import_idx ON public.permission_versions USING btree (from_import);

CREATE INDEX permission_versions_until_import_idx ON public.permission_versions USING btree (until_import) WHERE (until_import IS NOT NULL);

CREATE UNIQUE INDEX permissions_by_name ON public.permissions USING btree (application_id, header, section, permission);

CREATE INDEX permissions_in_any_case ON public.permissions USING btree (application_id, public.permission_in_any_case(header, section, permission));

CREATE INDEX personnel_events_identity_id_list_key_idx ON public.personnel_events USING btree (identity_id, list_key);

CREATE UNIQUE INDEX personnel_events_listed_ ON public.personnel_events USING btree (list_key);

CREATE INDEX personnel_events_listed_status ON public.personnel_events USING btree (status, list_key);

CREATE INDEX personnel_events_listed_type ON public.personnel_events USING btree (type, list_key);

CREATE INDEX personnel_events_listed_type_status ON public.personnel_events USING btree (type, status, list_key);

CREATE INDEX related_items_item_id_idx ON public.related_items USING btree (item_id);

CREATE INDEX report_firings_run_id_idx ON public.report_firings USING btree (run_id) WHERE (run_id IS NOT NULL);

CREATE UNIQUE INDEX reports_by_name ON public.reports USING btree (lower(name)) WHERE (deleted_on IS NULL);

CREATE INDEX reports_owner_id_idx ON public.reports USING btree (owner_id) WHERE (owner_id IS NOT NULL);

CREATE INDEX responses_to_give ON public.responses USING btree (reviewer_id, type) WHERE (response = 'Pending'::text);

CREATE INDEX settled_pages_by_age ON public.settled_pages USING btree (found_on) WHERE (page = 0);

CREATE INDEX sign_in_links_identity_id_idx ON public.sign_in_links USING btree (identity_id);

CREATE INDEX stages_to_come ON public.stages USING btree (scheduled_start) WHERE (status = 'Scheduled'::text);

CREATE UNIQUE INDEX waiting_requests_listed_ ON public.waiting_requests USING btree (list_key);

CREATE INDEX webhook_deliveries_access_request_id_list_key_idx ON public.webhook_deliveries USING btree (access_request_id, list_key);

CREATE INDEX webhook_deliveries_due ON public.webhook_deliveries USING btree (webhook_id, next_attempt_on, number) WHERE (status = 'Pending'::text);

CREATE INDEX webhook_deliveries_in_flight ON public.webhook_deliveries USING btree (webhook_id) WHERE (lease IS NOT NULL);

CREATE INDEX webhook_deliveries_in_turn ON public.webhook_deliveries USING btree (webhook_id, access_request_id, number) WHERE (untried AND (status = 'Pending'::text));

CREATE UNIQUE INDEX webhook_deliveries_listed_ ON public.webhook_deliveries USING btree (list_key);

CREATE INDEX webhook_deliveries_listed_status ON public.webhook_deliveries USING btree (status, list_key);

CREATE INDEX webhook_deliveries_listed_webhook_id ON public.webhook_deliveries USING btree (webhook_id, list_key);

CREATE INDEX webhook_deliveries_listed_webhook_id_status ON public.webhook_deliveries USING btree (webhook_id, status, list_key);

CREATE UNIQUE INDEX webhooks_by_name ON public.webhooks USING btree (name) WHERE (deleted_on IS NULL);

CREATE CONSTRAINT TRIGGER chain_changes AFTER INSERT ON public.audit_pending DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.chain_changes();

CREATE TRIGGER count_matching AFTER UPDATE ON public.accounts REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.count_matching();

CREATE TRIGGER fan_out_on_insert AFTER INSERT ON public.access_request_events REFERENCING NEW TABLE AS new_events FOR EACH STATEMENT EXECUTE FUNCTION public.fan_out_events();

CREATE TRIGGER forget_sign_ins AFTER UPDATE OF status ON public.identities FOR EACH ROW WHEN (((old.status = 'Active'::text) AND (new.status <> 'Active'::text))) EXECUTE FUNCTION public.forget_sign_ins();

CREATE TRIGGER forget_sign_ins_of_email AFTER UPDATE OF email_address ON public.identities FOR EACH ROW WHEN ((lower(old.email_address) <> lower(new.email_address))) EXECUTE FUNCTION public.forget_sign_ins();

CREATE TRIGGER keep_checkpoint AFTER INSERT OR UPDATE ON public.audit_heads FOR EACH ROW EXECUTE FUNCTION public.keep_checkpoint();

CREATE TRIGGER keep_list_on_delete AFTER DELETE ON public.access_model_members REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_access_model_members_on_delete();

CREATE TRIGGER keep_list_on_delete AFTER DELETE ON public.access_requests REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_access_requests_on_delete();

CREATE TRIGGER keep_list_on_delete AFTER DELETE ON public.application_imports REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_application_imports_on_delete();

CREATE TRIGGER keep_list_on_delete AFTER DELETE ON public.applications REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_applications_on_delete();

CREATE TRIGGER keep_list_on_delete AFTER DELETE ON public.audit_events REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_audit_events_on_delete();

CREATE TRIGGER keep_list_on_delete AFTER DELETE ON public.entitlements REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_entitlements_on_delete();

CREATE TRIGGER keep_list_on_delete AFTER DELETE ON public.exports REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_exports_on_delete();

CREATE TRIGGER keep_list_on_delete AFTER DELETE ON public.identities REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_identities_on_delete();

CREATE TRIGGER keep_list_on_delete AFTER DELETE ON public.notification_messages REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_notification_messages_on_delete();

CREATE TRIGGER keep_list_on_delete AFTER DELETE ON public.notifications REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_notifications_on_delete();

CREATE TRIGGER keep_list_on_delete AFTER DELETE ON public.personnel_events REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_personnel_events_on_delete();

CREATE TRIGGER keep_list_on_delete AFTER DELETE ON public.waiting_requests REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_waiting_requests_on_delete();

CREATE TRIGGER keep_list_on_delete AFTER DELETE ON public.webhook_deliveries REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_webhook_deliveries_on_delete();

CREATE TRIGGER keep_list_on_insert AFTER INSERT ON public.access_model_members REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_access_model_members_on_insert();

CREATE TRIGGER keep_list_on_insert AFTER INSERT ON public.access_requests REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_access_requests_on_insert();

CREATE TRIGGER keep_list_on_insert AFTER INSERT ON public.application_imports REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_application_imports_on_insert();

CREATE TRIGGER keep_list_on_insert AFTER INSERT ON public.applications REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_applications_on_insert();

CREATE TRIGGER keep_list_on_insert AFTER INSERT ON public.audit_events REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_audit_events_on_insert();

CREATE TRIGGER keep_list_on_insert AFTER INSERT ON public.entitlements REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_entitlements_on_insert();

CREATE TRIGGER keep_list_on_insert AFTER INSERT ON public.exports REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_exports_on_insert();

CREATE TRIGGER keep_list_on_insert AFTER INSERT ON public.identities REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_identities_on_insert();

CREATE TRIGGER keep_list_on_insert AFTER INSERT ON public.notification_messages REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_notification_messages_on_insert();

CREATE TRIGGER keep_list_on_insert AFTER INSERT ON public.notifications REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_notifications_on_insert();

CREATE TRIGGER keep_list_on_insert AFTER INSERT ON public.personnel_events REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_personnel_events_on_insert();

CREATE TRIGGER keep_list_on_insert AFTER INSERT ON public.waiting_requests REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_waiting_requests_on_insert();

CREATE TRIGGER keep_list_on_insert AFTER INSERT ON public.webhook_deliveries REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_webhook_deliveries_on_insert();

CREATE TRIGGER keep_list_on_truncate AFTER TRUNCATE ON public.access_model_members FOR EACH STATEMENT EXECUTE FUNCTION public.empty_list();

CREATE TRIGGER keep_list_on_truncate AFTER TRUNCATE ON public.access_requests FOR EACH STATEMENT EXECUTE FUNCTION public.empty_list();

CREATE TRIGGER keep_list_on_truncate AFTER TRUNCATE ON public.application_imports FOR EACH STATEMENT EXECUTE FUNCTION public.empty_list();

CREATE TRIGGER keep_list_on_truncate AFTER TRUNCATE ON public.applications FOR EACH STATEMENT EXECUTE FUNCTION public.empty_list();

CREATE TRIGGER keep_list_on_truncate AFTER TRUNCATE ON public.audit_events FOR EACH STATEMENT EXECUTE FUNCTION public.empty_list();

CREATE TRIGGER keep_list_on_truncate AFTER TRUNCATE ON public.entitlements FOR EACH STATEMENT EXECUTE FUNCTION public.empty_list();

CREATE TRIGGER keep_list_on_truncate AFTER TRUNCATE ON public.exports FOR EACH STATEMENT EXECUTE FUNCTION public.empty_list();

CREATE TRIGGER keep_list_on_truncate AFTER TRUNCATE ON public.identities FOR EACH STATEMENT EXECUTE FUNCTION public.empty_list();

CREATE TRIGGER keep_list_on_truncate AFTER TRUNCATE ON public.notification_messages FOR EACH STATEMENT EXECUTE FUNCTION public.empty_list();

CREATE TRIGGER keep_list_on_truncate AFTER TRUNCATE ON public.notifications FOR EACH STATEMENT EXECUTE FUNCTION public.empty_list();

CREATE TRIGGER keep_list_on_truncate AFTER TRUNCATE ON public.personnel_events FOR EACH STATEMENT EXECUTE FUNCTION public.empty_list();

CREATE TRIGGER keep_list_on_truncate AFTER TRUNCATE ON public.waiting_requests FOR EACH STATEMENT EXECUTE FUNCTION public.empty_list();

CREATE TRIGGER keep_list_on_truncate AFTER TRUNCATE ON public.webhook_deliveries FOR EACH STATEMENT EXECUTE FUNCTION public.empty_list();

CREATE TRIGGER keep_list_on_update AFTER UPDATE ON public.access_model_members REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_access_model_members_on_update();

CREATE TRIGGER keep_list_on_update AFTER UPDATE ON public.access_requests REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_access_requests_on_update();

CREATE TRIGGER keep_list_on_update AFTER UPDATE ON public.application_imports REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_application_imports_on_update();

CREATE TRIGGER keep_list_on_update AFTER UPDATE ON public.applications REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_applications_on_update();

CREATE TRIGGER keep_list_on_update AFTER UPDATE ON public.audit_events REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_audit_events_on_update();

CREATE TRIGGER keep_list_on_update AFTER UPDATE ON public.entitlements REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_entitlements_on_update();

CREATE TRIGGER keep_list_on_update AFTER UPDATE ON public.exports REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_exports_on_update();

CREATE TRIGGER keep_list_on_update AFTER UPDATE ON public.identities REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_identities_on_update();

CREATE TRIGGER keep_list_on_update AFTER UPDATE ON public.notification_messages REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_notification_messages_on_update();

CREATE TRIGGER keep_list_on_update AFTER UPDATE ON public.notifications REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_notifications_on_update();

CREATE TRIGGER keep_list_on_update AFTER UPDATE ON public.personnel_events REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_personnel_events_on_update();

CREATE TRIGGER keep_list_on_update AFTER UPDATE ON public.waiting_requests REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_waiting_requests_on_update();

CREATE TRIGGER keep_list_on_update AFTER UPDATE ON public.webhook_deliveries REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_webhook_deliveries_on_update();

CREATE TRIGGER keep_past AFTER DELETE ON public.access_model_members REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_past_model_members();

CREATE TRIGGER keep_past AFTER UPDATE ON public.access_requests REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_past_resolutions();

CREATE TRIGGER keep_past AFTER UPDATE ON public.accounts REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_past_matches();

CREATE TRIGGER keep_waiting_on_insert AFTER INSERT ON public.access_requests REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_waiting_requests();

CREATE TRIGGER keep_waiting_on_update AFTER UPDATE ON public.access_requests REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_waiting_requests();

CREATE TRIGGER key_row BEFORE INSERT OR UPDATE ON public.application_imports FOR EACH ROW EXECUTE FUNCTION public.key_application_import();

CREATE TRIGGER note_delete AFTER DELETE ON public.access_models REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_access_models();

CREATE TRIGGER note_delete AFTER DELETE ON public.access_requests REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_access_requests();

CREATE TRIGGER note_delete AFTER DELETE ON public.application_imports REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_application_imports();

CREATE TRIGGER note_delete AFTER DELETE ON public.applications REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_applications();

CREATE TRIGGER note_delete AFTER DELETE ON public.comments REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_comments();

CREATE TRIGGER note_delete AFTER DELETE ON public.connectors REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_connectors();

CREATE TRIGGER note_delete AFTER DELETE ON public.console_passwords REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_console_passwords();

CREATE TRIGGER note_delete AFTER DELETE ON public.console_roles REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_console_roles();

CREATE TRIGGER note_delete AFTER DELETE ON public.console_sessions REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_console_sessions();

CREATE TRIGGER note_delete AFTER DELETE ON public.curations REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_curations();

CREATE TRIGGER note_delete AFTER DELETE ON public.exports REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_exports();

CREATE TRIGGER note_delete AFTER DELETE ON public.file_groups REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_file_groups();

CREATE TRIGGER note_delete AFTER DELETE ON public.identities REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_identities();

CREATE TRIGGER note_delete AFTER DELETE ON public.import_files REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_import_files();

CREATE TRIGGER note_delete AFTER DELETE ON public.import_runs REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_import_runs();

CREATE TRIGGER note_delete AFTER DELETE ON public.notification_preferences REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_notification_preferences();

CREATE TRIGGER note_delete AFTER DELETE ON public.notification_secrets REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_notification_secrets();

CREATE TRIGGER note_delete AFTER DELETE ON public.notification_settings REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_notification_settings();

CREATE TRIGGER note_delete AFTER DELETE ON public.notification_zones REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_notification_zones();

CREATE TRIGGER note_delete AFTER DELETE ON public.personnel_events REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_personnel_events();

CREATE TRIGGER note_delete AFTER DELETE ON public.privileges REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_privileges();

CREATE TRIGGER note_delete AFTER DELETE ON public.related_items REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_related_items();

CREATE TRIGGER note_delete AFTER DELETE ON public.reports REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_reports();

CREATE TRIGGER note_delete AFTER DELETE ON public.responses REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_responses();

CREATE TRIGGER note_delete AFTER DELETE ON public.schedules REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_schedules();

CREATE TRIGGER note_delete AFTER DELETE ON public.settings REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_settings();

CREATE TRIGGER note_delete AFTER DELETE ON public.sign_in_links REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_sign_in_links();

CREATE TRIGGER note_delete AFTER DELETE ON public.stages REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_stages();

CREATE TRIGGER note_delete AFTER DELETE ON public.tokens REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_tokens();

CREATE TRIGGER note_delete AFTER DELETE ON public.webhook_callbacks REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_webhook_callbacks();

CREATE TRIGGER note_delete AFTER DELETE ON public.webhooks REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_webhooks();

CREATE TRIGGER note_event_news AFTER INSERT ON public.access_request_events REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_event_news();

CREATE TRIGGER note_insert AFTER INSERT ON public.access_models REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_access_models();

CREATE TRIGGER note_insert AFTER INSERT ON public.access_requests REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_access_requests();

CREATE TRIGGER note_insert AFTER INSERT ON public.application_imports REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_application_imports();

CREATE TRIGGER note_insert AFTER INSERT ON public.applications REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_applications();

CREATE TRIGGER note_insert AFTER INSERT ON public.comments REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_comments();

CREATE TRIGGER note_insert AFTER INSERT ON public.connectors REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_connectors();

CREATE TRIGGER note_insert AFTER INSERT ON public.console_passwords REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_console_passwords();

CREATE TRIGGER note_insert AFTER INSERT ON public.console_roles REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_console_roles();

CREATE TRIGGER note_insert AFTER INSERT ON public.console_sessions REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_console_sessions();

CREATE TRIGGER note_insert AFTER INSERT ON public.curations REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_curations();

CREATE TRIGGER note_insert AFTER INSERT ON public.exports REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_exports();

CREATE TRIGGER note_insert AFTER INSERT ON public.file_groups REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_file_groups();

CREATE TRIGGER note_insert AFTER INSERT ON public.identities REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_identities();

CREATE TRIGGER note_insert AFTER INSERT ON public.import_files REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_import_files();

CREATE TRIGGER note_insert AFTER INSERT ON public.import_runs REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_import_runs();

CREATE TRIGGER note_insert AFTER INSERT ON public.notification_preferences REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_notification_preferences();

CREATE TRIGGER note_insert AFTER INSERT ON public.notification_secrets REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_notification_secrets();

CREATE TRIGGER note_insert AFTER INSERT ON public.notification_settings REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_notification_settings();

CREATE TRIGGER note_insert AFTER INSERT ON public.notification_zones REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_notification_zones();

CREATE TRIGGER note_insert AFTER INSERT ON public.personnel_events REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_personnel_events();

CREATE TRIGGER note_insert AFTER INSERT ON public.privileges REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_privileges();

CREATE TRIGGER note_insert AFTER INSERT ON public.related_items REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_related_items();

CREATE TRIGGER note_insert AFTER INSERT ON public.reports REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_reports();

CREATE TRIGGER note_insert AFTER INSERT ON public.responses REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_responses();

CREATE TRIGGER note_insert AFTER INSERT ON public.schedules REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_schedules();

CREATE TRIGGER note_insert AFTER INSERT ON public.settings REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_settings();

CREATE TRIGGER note_insert AFTER INSERT ON public.sign_in_links REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_sign_in_links();

CREATE TRIGGER note_insert AFTER INSERT ON public.stages REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_stages();

CREATE TRIGGER note_insert AFTER INSERT ON public.tokens REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_tokens();

CREATE TRIGGER note_insert AFTER INSERT ON public.webhook_callbacks REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_webhook_callbacks();

CREATE TRIGGER note_insert AFTER INSERT ON public.webhooks REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_webhooks();

CREATE TRIGGER note_pin AFTER UPDATE ON public.accounts FOR EACH ROW WHEN (((old.pin IS DISTINCT FROM new.pin) OR ((new.pin IS NOT NULL) AND (old.identity_id IS DISTINCT FROM new.identity_id)))) EXECUTE FUNCTION public.note_pin();

CREATE TRIGGER note_to_match_on_insert AFTER INSERT ON public.identities REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_identities_to_match();

CREATE TRIGGER note_to_match_on_update AFTER UPDATE ON public.identities REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_identities_to_match();

CREATE TRIGGER note_update AFTER UPDATE ON public.access_models REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_access_models();

CREATE TRIGGER note_update AFTER UPDATE ON public.access_requests REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_access_requests();

CREATE TRIGGER note_update AFTER UPDATE ON public.application_imports REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_application_imports();

CREATE TRIGGER note_update AFTER UPDATE ON public.applications REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_applications();

CREATE TRIGGER note_update AFTER UPDATE ON public.comments REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_comments();

CREATE TRIGGER note_update AFTER UPDATE ON public.connectors REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_connectors();

CREATE TRIGGER note_update AFTER UPDATE ON public.console_passwords REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_console_passwords();

CREATE TRIGGER note_update AFTER UPDATE ON public.console_roles REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_console_roles();

CREATE TRIGGER note_update AFTER UPDATE ON public.console_sessions REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_console_sessions();

CREATE TRIGGER note_update AFTER UPDATE ON public.curations REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_curations();

CREATE TRIGGER note_update AFTER UPDATE ON public.exports REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_exports();

CREATE TRIGGER note_update AFTER UPDATE ON public.file_groups REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_file_groups();

CREATE TRIGGER note_update AFTER UPDATE ON public.identities REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_identities();

CREATE TRIGGER note_update AFTER UPDATE ON public.import_files REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_import_files();

CREATE TRIGGER note_update AFTER UPDATE ON public.import_runs REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_import_runs();

CREATE TRIGGER note_update AFTER UPDATE ON public.notification_preferences REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_notification_preferences();

CREATE TRIGGER note_update AFTER UPDATE ON public.notification_secrets REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_notification_secrets();

CREATE TRIGGER note_update AFTER UPDATE ON public.notification_settings REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_notification_settings();

CREATE TRIGGER note_update AFTER UPDATE ON public.notification_zones REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_notification_zones();

CREATE TRIGGER note_update AFTER UPDATE ON public.personnel_events REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_personnel_events();

CREATE TRIGGER note_update AFTER UPDATE ON public.privileges REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_privileges();

CREATE TRIGGER note_update AFTER UPDATE ON public.related_items REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_related_items();

CREATE TRIGGER note_update AFTER UPDATE ON public.reports REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_reports();

CREATE TRIGGER note_update AFTER UPDATE ON public.responses REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_responses();

CREATE TRIGGER note_update AFTER UPDATE ON public.schedules REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_schedules();

CREATE TRIGGER note_update AFTER UPDATE ON public.settings REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_settings();

CREATE TRIGGER note_update AFTER UPDATE ON public.sign_in_links REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_sign_in_links();

CREATE TRIGGER note_update AFTER UPDATE ON public.stages REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_stages();

CREATE TRIGGER note_update AFTER UPDATE ON public.tokens REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_tokens();

CREATE TRIGGER note_update AFTER UPDATE ON public.webhook_callbacks REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_webhook_callbacks();

CREATE TRIGGER note_update AFTER UPDATE ON public.webhooks REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_webhooks();

CREATE TRIGGER refresh_members_on_insert AFTER INSERT ON public.identities REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.refresh_access_model_members();

CREATE TRIGGER refresh_members_on_update AFTER UPDATE ON public.identities REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.refresh_access_model_members();

CREATE TRIGGER show_entitlements AFTER UPDATE OF status ON public.application_imports FOR EACH ROW WHEN (((new.status = 'Finished'::text) AND (old.status <> 'Finished'::text))) EXECUTE FUNCTION public.show_entitlements();

CREATE TRIGGER tell_of_assigned_event AFTER UPDATE OF assignee_id ON public.personnel_events FOR EACH ROW WHEN (((new.assignee_id IS DISTINCT FROM old.assignee_id) AND (new.assignee_id IS NOT NULL))) EXECUTE FUNCTION public.tell_of_assigned_event();

CREATE TRIGGER tell_of_canceled_event AFTER UPDATE OF status ON public.personnel_events FOR EACH ROW WHEN (((new.status = 'Canceled'::text) AND (old.status <> 'Canceled'::text))) EXECUTE FUNCTION public.tell_of_personnel_events();

CREATE TRIGGER tell_of_failed_import AFTER UPDATE OF status ON public.application_imports FOR EACH ROW WHEN (((new.status = 'Failed'::text) AND (old.status <> 'Failed'::text))) EXECUTE FUNCTION public.tell_of_failed_import();

CREATE TRIGGER tell_of_failing_channel AFTER UPDATE OF failing_since ON public.notification_channels FOR EACH ROW WHEN (((new.failing_since IS NOT NULL) AND (old.failing_since IS NULL))) EXECUTE FUNCTION public.tell_of_failing_channel();

CREATE TRIGGER tell_of_failing_webhook AFTER UPDATE ON public.webhooks FOR EACH ROW WHEN (((new.deleted_on IS NULL) AND (((new.failures >= public.failures_until_probed()) AND (old.failures < public.failures_until_probed())) OR ((new.disabled_reason IS NOT NULL) AND (old.disabled_reason IS NULL))))) EXECUTE FUNCTION public.tell_of_failing_webhook();

CREATE TRIGGER tell_of_held_import AFTER UPDATE OF held ON public.import_runs FOR EACH ROW WHEN (((new.held IS NOT NULL) AND (old.held IS NULL))) EXECUTE FUNCTION public.tell_of_held_import();

CREATE TRIGGER tell_of_moved_requests AFTER UPDATE ON public.access_requests REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.tell_of_moved_requests();

CREATE TRIGGER tell_of_new_event AFTER INSERT ON public.personnel_events FOR EACH ROW EXECUTE FUNCTION public.tell_of_personnel_events();

CREATE TRIGGER tell_of_request_events AFTER INSERT ON public.access_request_events REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.tell_of_request_events();

ALTER TABLE ONLY public.access_model_grants
    ADD CONSTRAINT access_model_grants_application_id_fkey FOREIGN KEY (application_id) REFERENCES public.applications(id);

ALTER TABLE ONLY public.access_model_grants
    ADD CONSTRAINT access_model_grants_model_id_fkey FOREIGN KEY (model_id) REFERENCES public.access_models(id);

ALTER TABLE ONLY public.access_model_versions
    ADD CONSTRAINT access_model_versions_model_id_fkey FOREIGN KEY (model_id) REFERENCES public.access_models(id);

ALTER TABLE ONLY public.access_request_events
    ADD CONSTRAINT access_request_events_request_id_fkey FOREIGN KEY (request_id) REFERENCES public.access_requests(id);

ALTER TABLE ONLY public.access_requests
    ADD CONSTRAINT access_requests_application_id_fkey FOREIGN KEY (application_id) REFERENCES public.applications(id);

ALTER TABLE ONLY public.access_requests
    ADD CONSTRAINT access_requests_identity_id_fkey FOREIGN KEY (identity_id) REFERENCES public.identities(id);

ALTER TABLE ONLY public.application_imports
    ADD CONSTRAINT application_imports_application_id_fkey FOREIGN KEY (application_id) REFERENCES public.applications(id);

ALTER TABLE ONLY public.application_totals
    ADD CONSTRAINT application_totals_application_id_fkey FOREIGN KEY (application_id) REFERENCES public.applications(id);

ALTER TABLE ONLY public.applications
    ADD CONSTRAINT applications_owner_id_fkey FOREIGN KEY (owner_id) REFERENCES public.identities(id);

ALTER TABLE ONLY public.connectors
    ADD CONSTRAINT connectors_application_id_fkey FOREIGN KEY (application_id) REFERENCES public.applications(id);

ALTER TABLE ONLY public.console_passwords
    ADD CONSTRAINT console_passwords_identity_id_fkey FOREIGN KEY (identity_id) REFERENCES public.identities(id);

ALTER TABLE ONLY public.console_roles
    ADD CONSTRAINT console_roles_identity_id_fkey FOREIGN KEY (identity_id) REFERENCES public.identities(id);

ALTER TABLE ONLY public.console_sessions
    ADD CONSTRAINT console_sessions_identity_id_fkey FOREIGN KEY (identity_id) REFERENCES public.identities(id);

ALTER TABLE ONLY public.curations
    ADD CONSTRAINT curations_owner_id_fkey FOREIGN KEY (owner_id) REFERENCES public.identities(id);

ALTER TABLE ONLY public.dry_run_files
    ADD CONSTRAINT dry_run_files_dry_run_id_fkey FOREIGN KEY (dry_run_id) REFERENCES public.dry_runs(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.dry_run_rejects
    ADD CONSTRAINT dry_run_rejects_dry_run_id_fkey FOREIGN KEY (dry_run_id) REFERENCES public.dry_runs(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.dry_runs
    ADD CONSTRAINT dry_runs_application_id_fkey FOREIGN KEY (application_id) REFERENCES public.applications(id);

ALTER TABLE ONLY public.file_groups
    ADD CONSTRAINT file_groups_connector_id_fkey FOREIGN KEY (connector_id) REFERENCES public.connectors(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.finished_imports
    ADD CONSTRAINT finished_imports_application_id_fkey FOREIGN KEY (application_id) REFERENCES public.applications(id);

ALTER TABLE ONLY public.finished_imports
    ADD CONSTRAINT finished_imports_import_id_fkey FOREIGN KEY (import_id) REFERENCES public.application_imports(id);

ALTER TABLE ONLY public.idempotency_keys
    ADD CONSTRAINT idempotency_keys_token_id_fkey FOREIGN KEY (token_id) REFERENCES public.tokens(id);

ALTER TABLE ONLY public.identities
    ADD CONSTRAINT identities_supervisor_id_fkey FOREIGN KEY (supervisor_id) REFERENCES public.identities(id);

ALTER TABLE ONLY public.import_files
    ADD CONSTRAINT import_files_import_id_fkey FOREIGN KEY (import_id) REFERENCES public.application_imports(id);

ALTER TABLE ONLY public.import_log
    ADD CONSTRAINT import_log_import_id_fkey FOREIGN KEY (import_id) REFERENCES public.application_imports(id);

ALTER TABLE ONLY public.import_rejects
    ADD CONSTRAINT import_rejects_import_id_fkey FOREIGN KEY (import_id) REFERENCES public.application_imports(id);

ALTER TABLE ONLY public.import_runs
    ADD CONSTRAINT import_runs_import_id_fkey FOREIGN KEY (import_id) REFERENCES public.application_imports(id);

ALTER TABLE ONLY public.notification_messages
    ADD CONSTRAINT notification_messages_identity_id_fkey FOREIGN KEY (identity_id) REFERENCES public.identities(id);

ALTER TABLE ONLY public.notification_preferences
    ADD CONSTRAINT notification_preferences_identity_id_fkey FOREIGN KEY (identity_id) REFERENCES public.identities(id);

ALTER TABLE ONLY public.notification_steps
    ADD CONSTRAINT notification_steps_request_id_fkey FOREIGN KEY (request_id) REFERENCES public.access_requests(id);

ALTER TABLE ONLY public.notification_zones
    ADD CONSTRAINT notification_zones_identity_id_fkey FOREIGN KEY (identity_id) REFERENCES public.identities(id);

ALTER TABLE ONLY public.notifications
    ADD CONSTRAINT notifications_identity_id_fkey FOREIGN KEY (identity_id) REFERENCES public.identities(id);

ALTER TABLE ONLY public.personnel_events
    ADD CONSTRAINT personnel_events_identity_id_fkey FOREIGN KEY (identity_id) REFERENCES public.identities(id);

ALTER TABLE ONLY public.previewed_changes
    ADD CONSTRAINT previewed_changes_preview_id_fkey FOREIGN KEY (preview_id) REFERENCES public.previews(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.privileges
    ADD CONSTRAINT privileges_request_id_fkey FOREIGN KEY (request_id) REFERENCES public.access_requests(id);

ALTER TABLE ONLY public.related_items
    ADD CONSTRAINT related_items_request_id_fkey FOREIGN KEY (request_id) REFERENCES public.access_requests(id);

ALTER TABLE ONLY public.report_firings
    ADD CONSTRAINT report_firings_report_id_fkey FOREIGN KEY (report_id) REFERENCES public.reports(id);

ALTER TABLE ONLY public.report_firings
    ADD CONSTRAINT report_firings_run_id_fkey FOREIGN KEY (run_id) REFERENCES public.exports(id);

ALTER TABLE ONLY public.reports
    ADD CONSTRAINT reports_owner_id_fkey FOREIGN KEY (owner_id) REFERENCES public.identities(id);

ALTER TABLE ONLY public.responses
    ADD CONSTRAINT responses_request_id_fkey FOREIGN KEY (request_id) REFERENCES public.access_requests(id);

ALTER TABLE ONLY public.schedule_firings
    ADD CONSTRAINT schedule_firings_application_id_fkey FOREIGN KEY (application_id) REFERENCES public.applications(id);

ALTER TABLE ONLY public.schedules
    ADD CONSTRAINT schedules_application_id_fkey FOREIGN KEY (application_id) REFERENCES public.applications(id);

ALTER TABLE ONLY public.sign_in_links
    ADD CONSTRAINT sign_in_links_identity_id_fkey FOREIGN KEY (identity_id) REFERENCES public.identities(id);

ALTER TABLE ONLY public.stages
    ADD CONSTRAINT stages_event_id_fkey FOREIGN KEY (event_id) REFERENCES public.personnel_events(id);

ALTER TABLE ONLY public.webhook_attempts
    ADD CONSTRAINT webhook_attempts_delivery_id_fkey FOREIGN KEY (delivery_id) REFERENCES public.webhook_deliveries(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.webhook_callbacks
    ADD CONSTRAINT webhook_callbacks_delivery_id_fkey FOREIGN KEY (delivery_id) REFERENCES public.webhook_deliveries(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.webhook_deliveries
    ADD CONSTRAINT webhook_deliveries_webhook_id_fkey FOREIGN KEY (webhook_id) REFERENCES public.webhooks(id);

ALTER TABLE ONLY public.webhooks
    ADD CONSTRAINT webhooks_application_id_fkey FOREIGN KEY (application_id) REFERENCES public.applications(id);
