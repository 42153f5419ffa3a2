-- The schema of the database as `rolecall migrate --schema` prints it: the result of migrations and schema files.
-- To change it, add a migration or edit rolecall/schema, then run `make schema`.

CREATE TABLE public.absences (
    event_id uuid NOT NULL,
    identity_id uuid NOT NULL,
    starts_on timestamp with time zone NOT NULL,
    ends_on timestamp with time zone,
    entered_by uuid,
    prolonged_by uuid[] DEFAULT '{}'::uuid[] NOT NULL
);
ALTER TABLE ONLY public.absences ADD CONSTRAINT absences_pkey PRIMARY KEY (event_id);
CREATE INDEX absences_authors_idx ON public.absences USING gin (((entered_by || prolonged_by)));
CREATE INDEX absences_identity_id_idx ON public.absences USING btree (identity_id);
ALTER TABLE ONLY public.absences ADD CONSTRAINT absences_identity_id_fkey FOREIGN KEY (identity_id) REFERENCES public.identities(id);

CREATE TYPE public.access AS ENUM ( 'None', 'Unrestricted', 'Grant', 'Deny', 'Modify' );

CREATE TABLE public.access_model_grants (
    model_id uuid NOT NULL,
    application_id uuid NOT NULL,
    is_group boolean NOT NULL,
    header text NOT NULL,
    section text NOT NULL,
    permission text NOT NULL,
    access text NOT NULL
);
ALTER TABLE ONLY public.access_model_grants ADD CONSTRAINT access_model_grants_pkey PRIMARY KEY (model_id, application_id, is_group, header, section, permission);
CREATE INDEX access_model_grants_application_id_permission_idx ON public.access_model_grants USING btree (application_id, permission);
ALTER TABLE ONLY public.access_model_grants ADD CONSTRAINT access_model_grants_application_id_fkey FOREIGN KEY (application_id) REFERENCES public.applications(id);
ALTER TABLE ONLY public.access_model_grants ADD CONSTRAINT access_model_grants_model_id_fkey FOREIGN KEY (model_id) REFERENCES public.access_models(id);

CREATE TABLE public.access_model_members (
    model_id uuid NOT NULL,
    identity_id uuid NOT NULL,
    since timestamp with time zone NOT NULL,
    list_key text NOT NULL COLLATE pg_catalog."C"
);
ALTER TABLE ONLY public.access_model_members ADD CONSTRAINT access_model_members_pkey PRIMARY KEY (model_id, identity_id);
CREATE INDEX access_model_members_identity_id_idx ON public.access_model_members USING btree (identity_id);
CREATE INDEX access_model_members_listed_model_id ON public.access_model_members USING btree (model_id, list_key);
CREATE TRIGGER keep_list_on_delete AFTER DELETE ON public.access_model_members REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_access_model_members_on_delete();
CREATE TRIGGER keep_list_on_insert AFTER INSERT ON public.access_model_members REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_access_model_members_on_insert();
CREATE TRIGGER keep_list_on_truncate AFTER TRUNCATE ON public.access_model_members FOR EACH STATEMENT EXECUTE FUNCTION public.empty_list();
CREATE TRIGGER keep_list_on_update AFTER UPDATE ON public.access_model_members REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_access_model_members_on_update();
CREATE TRIGGER keep_past AFTER DELETE ON public.access_model_members REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_past_model_members();

CREATE TABLE public.access_model_versions (
    model_id uuid NOT NULL,
    version integer NOT NULL,
    definition jsonb NOT NULL,
    committed_at timestamp with time zone NOT NULL,
    caller_id uuid NOT NULL,
    caller_name text NOT NULL
);
ALTER TABLE ONLY public.access_model_versions ADD CONSTRAINT access_model_versions_pkey PRIMARY KEY (model_id, version);
ALTER TABLE ONLY public.access_model_versions ADD CONSTRAINT access_model_versions_model_id_fkey FOREIGN KEY (model_id) REFERENCES public.access_models(id);

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
ALTER TABLE ONLY public.access_models ADD CONSTRAINT access_models_pkey PRIMARY KEY (id);
CREATE INDEX access_models_in_order ON public.access_models USING btree (name_key, id);
CREATE UNIQUE INDEX access_models_name_idx ON public.access_models USING btree (name);
CREATE TRIGGER note_delete AFTER DELETE ON public.access_models REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_access_models();
CREATE TRIGGER note_insert AFTER INSERT ON public.access_models REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_access_models();
CREATE TRIGGER note_update AFTER UPDATE ON public.access_models REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_access_models();

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
ALTER TABLE public.access_request_events ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY ( SEQUENCE NAME public.access_request_events_number_seq START WITH 1 INCREMENT BY 1 NO MINVALUE NO MAXVALUE CACHE 1 );
ALTER TABLE ONLY public.access_request_events ADD CONSTRAINT access_request_events_pkey PRIMARY KEY (number);
CREATE INDEX access_request_events_request_id_number_idx ON public.access_request_events USING btree (request_id, number);
CREATE TRIGGER fan_out_on_insert AFTER INSERT ON public.access_request_events REFERENCING NEW TABLE AS new_events FOR EACH STATEMENT EXECUTE FUNCTION public.fan_out_events();
CREATE TRIGGER follow_review_requests AFTER INSERT ON public.access_request_events REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.follow_review_requests();
CREATE TRIGGER note_event_news AFTER INSERT ON public.access_request_events REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_event_news();
CREATE TRIGGER notify_of_request_events AFTER INSERT ON public.access_request_events REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.notify_of_request_events();
ALTER TABLE ONLY public.access_request_events ADD CONSTRAINT access_request_events_request_id_fkey FOREIGN KEY (request_id) REFERENCES public.access_requests(id);

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
    postponed_until timestamp with time zone,
    is_whole boolean DEFAULT false NOT NULL,
    CONSTRAINT action_is_known CHECK ((action = ANY (ARRAY['Add'::text, 'Change'::text, 'Remove'::text, 'Suspend'::text, 'Restore'::text]))),
    CONSTRAINT assignee_is_whole CHECK (((assignee_id IS NULL) = (assignee_name IS NULL))),
    CONSTRAINT status_is_known CHECK ((status = ANY (ARRAY['Pending'::text, 'Open'::text, 'Resolved'::text, 'Completed'::text, 'Canceled'::text, 'Scheduled'::text, 'Snoozed'::text]))),
    CONSTRAINT target_is_a_person_or_a_group CHECK ((target_type =
CASE
    WHEN (identity_id IS NULL) THEN 'Group'::text
    ELSE 'User'::text
END))
);
ALTER TABLE public.access_requests ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY ( SEQUENCE NAME public.access_requests_number_seq START WITH 1 INCREMENT BY 1 NO MINVALUE NO MAXVALUE CACHE 1 );
ALTER TABLE ONLY public.access_requests ADD CONSTRAINT access_requests_number_key UNIQUE (number);
ALTER TABLE ONLY public.access_requests ADD CONSTRAINT access_requests_pkey PRIMARY KEY (id);
CREATE INDEX access_requests_application_id_target_name_list_key_idx ON public.access_requests USING btree (application_id, target_name, list_key);
CREATE INDEX access_requests_assignee_id_list_key_idx ON public.access_requests USING btree (assignee_id, list_key) WHERE (assignee_id IS NOT NULL);
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
CREATE INDEX access_requests_to_start ON public.access_requests USING btree (GREATEST(scheduled_start, postponed_until)) WHERE (status = 'Scheduled'::text);
CREATE INDEX access_requests_to_wake ON public.access_requests USING btree (GREATEST(snoozed_until, postponed_until)) WHERE (status = 'Snoozed'::text);
CREATE TRIGGER keep_list_on_delete AFTER DELETE ON public.access_requests REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_access_requests_on_delete();
CREATE TRIGGER keep_list_on_insert AFTER INSERT ON public.access_requests REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_access_requests_on_insert();
CREATE TRIGGER keep_list_on_truncate AFTER TRUNCATE ON public.access_requests FOR EACH STATEMENT EXECUTE FUNCTION public.empty_list();
CREATE TRIGGER keep_list_on_update AFTER UPDATE ON public.access_requests REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_access_requests_on_update();
CREATE TRIGGER keep_past AFTER UPDATE ON public.access_requests REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_past_resolutions();
CREATE TRIGGER keep_waiting_on_insert AFTER INSERT ON public.access_requests REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_waiting_requests();
CREATE TRIGGER keep_waiting_on_update AFTER UPDATE ON public.access_requests REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_waiting_requests();
CREATE TRIGGER note_delete AFTER DELETE ON public.access_requests REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_access_requests();
CREATE TRIGGER note_insert AFTER INSERT ON public.access_requests REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_access_requests();
CREATE TRIGGER note_update AFTER UPDATE ON public.access_requests REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_access_requests();
CREATE TRIGGER notify_of_moved_requests AFTER UPDATE ON public.access_requests REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.notify_of_moved_requests();
CREATE TRIGGER nudge_carriers AFTER UPDATE ON public.access_requests REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.nudge_carriers();
CREATE TRIGGER recheck_requests AFTER UPDATE ON public.access_requests REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.recheck_requests_of_event();
ALTER TABLE ONLY public.access_requests ADD CONSTRAINT access_requests_application_id_fkey FOREIGN KEY (application_id) REFERENCES public.applications(id);
ALTER TABLE ONLY public.access_requests ADD CONSTRAINT access_requests_identity_id_fkey FOREIGN KEY (identity_id) REFERENCES public.identities(id);

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
ALTER TABLE ONLY public.account_versions ADD CONSTRAINT account_versions_pkey PRIMARY KEY (account_number, from_import);
CREATE INDEX account_versions_by_email ON public.account_versions USING btree (lower(email)) WHERE ((until_import IS NULL) AND (email <> ''::text));
CREATE INDEX account_versions_by_employee_id ON public.account_versions USING btree (lower(employee_id)) WHERE ((until_import IS NULL) AND (employee_id <> ''::text));
CREATE INDEX account_versions_by_last_login ON public.account_versions USING btree (last_login) WHERE ((until_import IS NULL) AND (last_login <> ''::text));
CREATE INDEX account_versions_by_name ON public.account_versions USING btree (last_name_key, first_name_key) WHERE ((until_import IS NULL) AND (last_name_key <> ''::text));
CREATE INDEX account_versions_from_import_idx ON public.account_versions USING btree (from_import);
CREATE INDEX account_versions_until_import_idx ON public.account_versions USING btree (until_import) WHERE (until_import IS NOT NULL);

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
ALTER TABLE ONLY public.accounts ADD CONSTRAINT accounts_application_id_username_key UNIQUE (application_id, username);
ALTER TABLE ONLY public.accounts ADD CONSTRAINT accounts_id_key UNIQUE (id);
ALTER TABLE ONLY public.accounts ADD CONSTRAINT accounts_pkey PRIMARY KEY (number);
CREATE INDEX accounts_application_id_match_username_idx ON public.accounts USING btree (application_id, match, username);
CREATE INDEX accounts_by_skeleton ON public.accounts USING btree (application_id, public.username_skeleton(username));
CREATE INDEX accounts_identity_id_idx ON public.accounts USING btree (identity_id) WHERE (identity_id IS NOT NULL);
CREATE TRIGGER count_matching AFTER UPDATE ON public.accounts REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.count_matching();
CREATE TRIGGER keep_past AFTER UPDATE ON public.accounts REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_past_matches();
CREATE TRIGGER note_pin AFTER UPDATE ON public.accounts FOR EACH ROW WHEN (((old.pin IS DISTINCT FROM new.pin) OR ((new.pin IS NOT NULL) AND (old.identity_id IS DISTINCT FROM new.identity_id)))) EXECUTE FUNCTION public.note_pin();
CREATE TRIGGER note_to_evaluate AFTER UPDATE ON public.accounts REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_people_to_evaluate();
CREATE TRIGGER recheck_requests AFTER UPDATE ON public.accounts REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.recheck_requests_of_matches();

CREATE TABLE public.activity (
    number bigint NOT NULL,
    item_id uuid NOT NULL,
    created_date timestamp with time zone NOT NULL,
    author text NOT NULL,
    action text,
    content text NOT NULL
);
ALTER TABLE public.activity ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY ( SEQUENCE NAME public.activity_number_seq START WITH 1 INCREMENT BY 1 NO MINVALUE NO MAXVALUE CACHE 1 );
ALTER TABLE ONLY public.activity ADD CONSTRAINT activity_pkey PRIMARY KEY (number);
CREATE INDEX activity_item_id_number_idx ON public.activity USING btree (item_id, number);

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
ALTER TABLE public.application_imports ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY ( SEQUENCE NAME public.application_imports_number_seq START WITH 1 INCREMENT BY 1 NO MINVALUE NO MAXVALUE CACHE 1 );
ALTER TABLE ONLY public.application_imports ADD CONSTRAINT application_imports_number_key UNIQUE (number);
ALTER TABLE ONLY public.application_imports ADD CONSTRAINT application_imports_pkey PRIMARY KEY (id);
CREATE INDEX application_imports_at_work ON public.application_imports USING btree (status, number) WHERE (status = ANY (ARRAY['Pending'::text, 'Running'::text, 'Canceling'::text]));
CREATE INDEX application_imports_by_number ON public.application_imports USING btree (application_id, number);
CREATE INDEX application_imports_finished ON public.application_imports USING btree (application_id, number) WHERE (status = 'Finished'::text);
CREATE UNIQUE INDEX application_imports_listed_ ON public.application_imports USING btree (list_key);
CREATE INDEX application_imports_listed_application_id ON public.application_imports USING btree (application_id, list_key);
CREATE TRIGGER keep_list_on_delete AFTER DELETE ON public.application_imports REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_application_imports_on_delete();
CREATE TRIGGER keep_list_on_insert AFTER INSERT ON public.application_imports REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_application_imports_on_insert();
CREATE TRIGGER keep_list_on_truncate AFTER TRUNCATE ON public.application_imports FOR EACH STATEMENT EXECUTE FUNCTION public.empty_list();
CREATE TRIGGER keep_list_on_update AFTER UPDATE ON public.application_imports REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_application_imports_on_update();
CREATE TRIGGER key_row BEFORE INSERT OR UPDATE ON public.application_imports FOR EACH ROW EXECUTE FUNCTION public.key_application_import();
CREATE TRIGGER note_delete AFTER DELETE ON public.application_imports REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_application_imports();
CREATE TRIGGER note_import_to_review AFTER UPDATE OF status ON public.application_imports FOR EACH ROW WHEN (((new.status = 'Finished'::text) AND (old.status <> 'Finished'::text))) EXECUTE FUNCTION public.note_import_to_review();
CREATE TRIGGER note_insert AFTER INSERT ON public.application_imports REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_application_imports();
CREATE TRIGGER note_update AFTER UPDATE ON public.application_imports REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_application_imports();
CREATE TRIGGER notify_of_failed_import AFTER UPDATE OF status ON public.application_imports FOR EACH ROW WHEN (((new.status = 'Failed'::text) AND (old.status <> 'Failed'::text))) EXECUTE FUNCTION public.notify_of_failed_import();
CREATE TRIGGER recheck_requests AFTER UPDATE OF status ON public.application_imports FOR EACH ROW WHEN (((new.status = 'Finished'::text) AND (old.status <> 'Finished'::text))) EXECUTE FUNCTION public.recheck_requests_after_import();
CREATE TRIGGER show_entitlements AFTER UPDATE OF status ON public.application_imports FOR EACH ROW WHEN (((new.status = 'Finished'::text) AND (old.status <> 'Finished'::text))) EXECUTE FUNCTION public.show_entitlements();
CREATE TRIGGER watch_duties AFTER UPDATE OF status ON public.application_imports FOR EACH ROW WHEN (((new.status = 'Finished'::text) AND (old.status <> 'Finished'::text))) EXECUTE FUNCTION public.evaluate_import();
ALTER TABLE ONLY public.application_imports ADD CONSTRAINT application_imports_application_id_fkey FOREIGN KEY (application_id) REFERENCES public.applications(id);

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
ALTER TABLE ONLY public.application_totals ADD CONSTRAINT application_totals_pkey PRIMARY KEY (application_id);
ALTER TABLE ONLY public.application_totals ADD CONSTRAINT application_totals_application_id_fkey FOREIGN KEY (application_id) REFERENCES public.applications(id);

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
    review_every_months integer,
    surprise_reviews boolean DEFAULT false NOT NULL,
    former_names text[] DEFAULT '{}'::text[] NOT NULL,
    CONSTRAINT priority_is_known CHECK ((priority = ANY (ARRAY['None'::text, 'Low'::text, 'Moderate'::text, 'High'::text, 'Critical'::text]))),
    CONSTRAINT review_every_is_positive CHECK ((review_every_months > 0))
);
ALTER TABLE ONLY public.applications ADD CONSTRAINT applications_name_key UNIQUE (name);
ALTER TABLE ONLY public.applications ADD CONSTRAINT applications_pkey PRIMARY KEY (id);
CREATE INDEX applications_listed_ ON public.applications USING btree (list_key);
CREATE TRIGGER evaluate_archived AFTER UPDATE OF is_archived ON public.applications FOR EACH ROW WHEN ((old.is_archived <> new.is_archived)) EXECUTE FUNCTION public.evaluate_archived();
CREATE TRIGGER keep_former_name BEFORE UPDATE OF name ON public.applications FOR EACH ROW WHEN ((old.name <> new.name)) EXECUTE FUNCTION public.keep_former_name();
CREATE TRIGGER keep_list_on_delete AFTER DELETE ON public.applications REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_applications_on_delete();
CREATE TRIGGER keep_list_on_insert AFTER INSERT ON public.applications REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_applications_on_insert();
CREATE TRIGGER keep_list_on_truncate AFTER TRUNCATE ON public.applications FOR EACH STATEMENT EXECUTE FUNCTION public.empty_list();
CREATE TRIGGER keep_list_on_update AFTER UPDATE ON public.applications REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_applications_on_update();
CREATE TRIGGER match_renamed AFTER UPDATE OF name ON public.applications FOR EACH ROW WHEN ((old.name <> new.name)) EXECUTE FUNCTION public.match_renamed();
CREATE TRIGGER note_delete AFTER DELETE ON public.applications REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_applications();
CREATE TRIGGER note_insert AFTER INSERT ON public.applications REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_applications();
CREATE TRIGGER note_update AFTER UPDATE ON public.applications REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_applications();
CREATE TRIGGER recheck_requests AFTER UPDATE OF name ON public.applications FOR EACH ROW WHEN ((old.name <> new.name)) EXECUTE FUNCTION public.recheck_all_requests();
ALTER TABLE ONLY public.applications ADD CONSTRAINT applications_owner_id_fkey FOREIGN KEY (owner_id) REFERENCES public.identities(id);

CREATE TABLE public.assignments (
    holder_number integer NOT NULL,
    permission_number integer NOT NULL,
    access public.access NOT NULL,
    from_import integer NOT NULL,
    until_import integer,
    value text NOT NULL
);
ALTER TABLE ONLY public.assignments ADD CONSTRAINT assignments_pkey PRIMARY KEY (holder_number, permission_number, from_import);
CREATE INDEX assignments_from_import_idx ON public.assignments USING brin (from_import);
CREATE INDEX assignments_until_import_idx ON public.assignments USING btree (until_import) WHERE (until_import IS NOT NULL);
CREATE TRIGGER note_former_holders AFTER UPDATE ON public.assignments REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_former_holders();
CREATE TRIGGER note_holders AFTER INSERT ON public.assignments REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_holders();

CREATE TABLE public.audit_checkpoints (
    chain integer NOT NULL,
    chains integer[] DEFAULT '{}'::integer[] NOT NULL,
    numbers bigint[] DEFAULT '{}'::bigint[] NOT NULL,
    hashes bytea[] DEFAULT '{}'::bytea[] NOT NULL
)
WITH (fillfactor='20');
ALTER TABLE ONLY public.audit_checkpoints ADD CONSTRAINT audit_checkpoints_pkey PRIMARY KEY (chain);

CREATE TABLE public.audit_events (
    number bigint NOT NULL,
    chain integer NOT NULL,
    entry text NOT NULL,
    previous bytea NOT NULL,
    hash bytea NOT NULL,
    action_key text NOT NULL COLLATE pg_catalog."C",
    created_key text NOT NULL COLLATE pg_catalog."C",
    caller_id uuid,
    entity_id uuid NOT NULL,
    list_key text GENERATED ALWAYS AS (lpad((number)::text, 18, '0'::text)) STORED COLLATE pg_catalog."C"
);
ALTER TABLE public.audit_events ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY ( SEQUENCE NAME public.audit_events_number_seq START WITH 1 INCREMENT BY 1 NO MINVALUE NO MAXVALUE CACHE 1 );
ALTER TABLE ONLY public.audit_events ADD CONSTRAINT audit_events_pkey PRIMARY KEY (number);
CREATE INDEX audit_events_action_key_list_key_idx ON public.audit_events USING btree (action_key, list_key);
CREATE INDEX audit_events_caller_id_list_key_idx ON public.audit_events USING btree (caller_id, list_key);
CREATE INDEX audit_events_created_key_number_idx ON public.audit_events USING btree (created_key, number);
CREATE INDEX audit_events_entity_id_list_key_idx ON public.audit_events USING btree (entity_id, list_key);
CREATE UNIQUE INDEX audit_events_listed_ ON public.audit_events USING btree (list_key);
CREATE TRIGGER keep_list_on_delete AFTER DELETE ON public.audit_events REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_audit_events_on_delete();
CREATE TRIGGER keep_list_on_insert AFTER INSERT ON public.audit_events REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT WHEN ((current_setting('rolecall.lists_itself'::text, true) IS DISTINCT FROM 'true'::text)) EXECUTE FUNCTION public.keep_audit_events_on_insert();
CREATE TRIGGER keep_list_on_truncate AFTER TRUNCATE ON public.audit_events FOR EACH STATEMENT EXECUTE FUNCTION public.empty_list();
CREATE TRIGGER keep_list_on_update AFTER UPDATE ON public.audit_events REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_audit_events_on_update();

CREATE TABLE public.audit_heads (
    chain integer NOT NULL,
    number bigint NOT NULL,
    count bigint NOT NULL,
    hash bytea NOT NULL
)
WITH (fillfactor='20');
ALTER TABLE ONLY public.audit_heads ADD CONSTRAINT audit_heads_pkey PRIMARY KEY (chain);

CREATE UNLOGGED TABLE public.audit_pending (
    number bigint DEFAULT ((pg_current_xact_id())::text)::bigint NOT NULL
);
ALTER TABLE ONLY public.audit_pending ADD CONSTRAINT audit_pending_pkey PRIMARY KEY (number);
CREATE CONSTRAINT TRIGGER chain_changes AFTER INSERT ON public.audit_pending DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.chain_changes();

CREATE TABLE public.carried_requests (
    request_id uuid NOT NULL,
    application_id uuid NOT NULL,
    opened_on timestamp with time zone NOT NULL,
    state text NOT NULL,
    reason text DEFAULT ''::text NOT NULL,
    attempts integer DEFAULT 0 NOT NULL,
    next_on timestamp with time zone NOT NULL,
    changed_on timestamp with time zone NOT NULL,
    is_released boolean DEFAULT false NOT NULL,
    planned_with text DEFAULT ''::text NOT NULL,
    assignee_id uuid,
    CONSTRAINT carried_requests_state_check CHECK ((state = ANY (ARRAY['Waiting'::text, 'Held'::text, 'Dry Run'::text, 'Left'::text, 'Done'::text])))
);
ALTER TABLE ONLY public.carried_requests ADD CONSTRAINT carried_requests_pkey PRIMARY KEY (request_id);
CREATE INDEX carried_requests_by_state ON public.carried_requests USING btree (application_id, state, changed_on);
CREATE TRIGGER note_delete AFTER DELETE ON public.carried_requests REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_carried_requests();
CREATE TRIGGER note_insert AFTER INSERT ON public.carried_requests REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_carried_requests();
CREATE TRIGGER note_update AFTER UPDATE ON public.carried_requests REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_carried_requests();
ALTER TABLE ONLY public.carried_requests ADD CONSTRAINT carried_requests_application_id_fkey FOREIGN KEY (application_id) REFERENCES public.applications(id);
ALTER TABLE ONLY public.carried_requests ADD CONSTRAINT carried_requests_request_id_fkey FOREIGN KEY (request_id) REFERENCES public.access_requests(id);

CREATE TABLE public.carrier_steps (
    request_id uuid NOT NULL,
    "position" integer NOT NULL,
    application_id uuid NOT NULL,
    step jsonb NOT NULL,
    is_removal boolean NOT NULL,
    state text NOT NULL,
    answer text DEFAULT ''::text NOT NULL,
    sent_on timestamp with time zone,
    CONSTRAINT carrier_steps_state_check CHECK ((state = ANY (ARRAY['Planned'::text, 'Sent'::text, 'Done'::text])))
);
ALTER TABLE ONLY public.carrier_steps ADD CONSTRAINT carrier_steps_pkey PRIMARY KEY (request_id, "position");
CREATE INDEX carrier_steps_by_time ON public.carrier_steps USING btree (application_id, sent_on) WHERE (sent_on IS NOT NULL);
CREATE TRIGGER note_delete AFTER DELETE ON public.carrier_steps REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_carrier_steps();
CREATE TRIGGER note_insert AFTER INSERT ON public.carrier_steps REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_carrier_steps();
CREATE TRIGGER note_update AFTER UPDATE ON public.carrier_steps REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_carrier_steps();
ALTER TABLE ONLY public.carrier_steps ADD CONSTRAINT carrier_steps_application_id_fkey FOREIGN KEY (application_id) REFERENCES public.applications(id);
ALTER TABLE ONLY public.carrier_steps ADD CONSTRAINT carrier_steps_request_id_fkey FOREIGN KEY (request_id) REFERENCES public.carried_requests(request_id);

CREATE TABLE public.carriers (
    application_id uuid NOT NULL,
    definition jsonb NOT NULL,
    changed_on timestamp with time zone NOT NULL,
    mode_since timestamp with time zone NOT NULL,
    unverified_on timestamp with time zone
);
ALTER TABLE ONLY public.carriers ADD CONSTRAINT carriers_pkey PRIMARY KEY (application_id);
CREATE TRIGGER note_delete AFTER DELETE ON public.carriers REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_carriers();
CREATE TRIGGER note_insert AFTER INSERT ON public.carriers REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_carriers();
CREATE TRIGGER note_update AFTER UPDATE ON public.carriers REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_carriers();
ALTER TABLE ONLY public.carriers ADD CONSTRAINT carriers_application_id_fkey FOREIGN KEY (application_id) REFERENCES public.applications(id);

CREATE TABLE public.comments (
    number bigint NOT NULL,
    item_id uuid NOT NULL,
    created_date timestamp with time zone NOT NULL,
    author text NOT NULL,
    content text NOT NULL
);
ALTER TABLE public.comments ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY ( SEQUENCE NAME public.comments_number_seq START WITH 1 INCREMENT BY 1 NO MINVALUE NO MAXVALUE CACHE 1 );
ALTER TABLE ONLY public.comments ADD CONSTRAINT comments_pkey PRIMARY KEY (number);
CREATE INDEX comments_item_id_number_idx ON public.comments USING btree (item_id, number);
CREATE TRIGGER note_delete AFTER DELETE ON public.comments REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_comments();
CREATE TRIGGER note_insert AFTER INSERT ON public.comments REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_comments();
CREATE TRIGGER note_update AFTER UPDATE ON public.comments REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_comments();

CREATE TABLE public.conflict_exceptions (
    id uuid NOT NULL,
    number bigint NOT NULL,
    conflict_id uuid NOT NULL,
    rule_id uuid NOT NULL,
    identity_id uuid NOT NULL,
    reason text NOT NULL,
    control text NOT NULL,
    control_owner_id uuid NOT NULL,
    until timestamp with time zone NOT NULL,
    status text NOT NULL,
    requested_by uuid CONSTRAINT conflict_exceptions_asked_by_not_null NOT NULL,
    requested_by_name text CONSTRAINT conflict_exceptions_asked_by_name_not_null NOT NULL,
    created_at timestamp with time zone NOT NULL,
    approved_on timestamp with time zone,
    ended_on timestamp with time zone,
    duties uuid[] NOT NULL,
    requester_id uuid NOT NULL,
    CONSTRAINT status_is_known CHECK ((status = ANY (ARRAY['Pending'::text, 'Approved'::text, 'Withdrawn'::text, 'Expired'::text, 'Outgrown'::text])))
);
ALTER TABLE public.conflict_exceptions ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY ( SEQUENCE NAME public.conflict_exceptions_number_seq START WITH 1 INCREMENT BY 1 NO MINVALUE NO MAXVALUE CACHE 1 );
ALTER TABLE ONLY public.conflict_exceptions ADD CONSTRAINT conflict_exceptions_number_key UNIQUE (number);
ALTER TABLE ONLY public.conflict_exceptions ADD CONSTRAINT conflict_exceptions_pkey PRIMARY KEY (id);
CREATE INDEX conflict_exceptions_conflict_id_idx ON public.conflict_exceptions USING btree (conflict_id);
CREATE INDEX conflict_exceptions_until_idx ON public.conflict_exceptions USING btree (until) WHERE (status = ANY (ARRAY['Pending'::text, 'Approved'::text]));
CREATE UNIQUE INDEX one_current_exception ON public.conflict_exceptions USING btree (rule_id, identity_id, status) WHERE (status = ANY (ARRAY['Pending'::text, 'Approved'::text]));
CREATE TRIGGER note_delete AFTER DELETE ON public.conflict_exceptions REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_conflict_exceptions();
CREATE TRIGGER note_insert AFTER INSERT ON public.conflict_exceptions REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_conflict_exceptions();
CREATE TRIGGER note_update AFTER UPDATE ON public.conflict_exceptions REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_conflict_exceptions();
CREATE TRIGGER notify_of_decided_exception AFTER UPDATE OF status ON public.conflict_exceptions FOR EACH ROW WHEN (((new.status = ANY (ARRAY['Approved'::text, 'Withdrawn'::text])) AND (old.status = 'Pending'::text))) EXECUTE FUNCTION public.notify_of_exception();
CREATE TRIGGER notify_of_ended_exception AFTER UPDATE OF status ON public.conflict_exceptions FOR EACH ROW WHEN (((new.status = ANY (ARRAY['Expired'::text, 'Outgrown'::text])) AND (old.status <> new.status))) EXECUTE FUNCTION public.notify_of_exception();
CREATE TRIGGER notify_of_new_exception AFTER INSERT ON public.conflict_exceptions FOR EACH ROW EXECUTE FUNCTION public.notify_of_exception();
CREATE TRIGGER refuse_move BEFORE UPDATE OF status ON public.conflict_exceptions FOR EACH ROW WHEN (((new.status <> old.status) AND (((old.status || ' > '::text) || new.status) <> ALL (public.exception_moves())))) EXECUTE FUNCTION public.refuse_move('An exception');
ALTER TABLE ONLY public.conflict_exceptions ADD CONSTRAINT conflict_exceptions_conflict_id_fkey FOREIGN KEY (conflict_id) REFERENCES public.conflicts(id);
ALTER TABLE ONLY public.conflict_exceptions ADD CONSTRAINT conflict_exceptions_control_owner_id_fkey FOREIGN KEY (control_owner_id) REFERENCES public.identities(id);
ALTER TABLE ONLY public.conflict_exceptions ADD CONSTRAINT conflict_exceptions_rule_id_fkey FOREIGN KEY (rule_id) REFERENCES public.duty_rules(id);

CREATE TABLE public.conflicts (
    id uuid DEFAULT gen_random_uuid() NOT NULL,
    number bigint NOT NULL,
    rule_id uuid NOT NULL,
    identity_id uuid NOT NULL,
    since timestamp with time zone NOT NULL,
    since_import integer,
    until timestamp with time zone,
    until_import integer,
    found_on timestamp with time zone NOT NULL,
    status text DEFAULT 'Open'::text NOT NULL,
    list_key text GENERATED ALWAYS AS (public.time_key(since, number)) STORED NOT NULL COLLATE pg_catalog."C",
    CONSTRAINT an_end_ends_it CHECK (((status = 'Ended'::text) = (until IS NOT NULL))),
    CONSTRAINT status_is_known CHECK ((status = ANY (ARRAY['Open'::text, 'Excepted'::text, 'Ended'::text])))
);
ALTER TABLE public.conflicts ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY ( SEQUENCE NAME public.conflicts_number_seq START WITH 1 INCREMENT BY 1 NO MINVALUE NO MAXVALUE CACHE 1 );
ALTER TABLE ONLY public.conflicts ADD CONSTRAINT conflicts_number_key UNIQUE (number);
ALTER TABLE ONLY public.conflicts ADD CONSTRAINT conflicts_pkey PRIMARY KEY (id);
CREATE INDEX conflicts_identity_id_list_key_idx ON public.conflicts USING btree (identity_id, list_key);
CREATE UNIQUE INDEX conflicts_listed_ ON public.conflicts USING btree (list_key);
CREATE INDEX conflicts_listed_rule_id ON public.conflicts USING btree (rule_id, list_key);
CREATE INDEX conflicts_listed_status ON public.conflicts USING btree (status, list_key);
CREATE INDEX conflicts_listed_status_rule_id ON public.conflicts USING btree (status, rule_id, list_key);
CREATE INDEX conflicts_until_idx ON public.conflicts USING btree (until) WHERE (until IS NOT NULL);
CREATE UNIQUE INDEX one_current_conflict ON public.conflicts USING btree (rule_id, identity_id) WHERE (until IS NULL);
CREATE TRIGGER except_conflicts AFTER INSERT ON public.conflicts REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.except_conflicts();
CREATE TRIGGER keep_list_on_delete AFTER DELETE ON public.conflicts REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_conflicts_on_delete();
CREATE TRIGGER keep_list_on_insert AFTER INSERT ON public.conflicts REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_conflicts_on_insert();
CREATE TRIGGER keep_list_on_truncate AFTER TRUNCATE ON public.conflicts FOR EACH STATEMENT EXECUTE FUNCTION public.empty_list();
CREATE TRIGGER keep_list_on_update AFTER UPDATE ON public.conflicts REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_conflicts_on_update();
CREATE TRIGGER notify_of_conflicts AFTER INSERT ON public.conflicts REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.notify_of_conflicts();
CREATE TRIGGER refuse_move BEFORE UPDATE OF status ON public.conflicts FOR EACH ROW WHEN (((new.status <> old.status) AND (((old.status || ' > '::text) || new.status) <> ALL (public.conflict_moves())))) EXECUTE FUNCTION public.refuse_move('A conflict');
ALTER TABLE ONLY public.conflicts ADD CONSTRAINT conflicts_rule_id_fkey FOREIGN KEY (rule_id) REFERENCES public.duty_rules(id);

CREATE TABLE public.connector_templates (
    id uuid NOT NULL,
    name text NOT NULL,
    vendor text NOT NULL,
    description text NOT NULL,
    files jsonb NOT NULL,
    created_by text NOT NULL,
    created_date timestamp with time zone NOT NULL
);
ALTER TABLE ONLY public.connector_templates ADD CONSTRAINT connector_templates_pkey PRIMARY KEY (id);
CREATE UNIQUE INDEX connector_templates_by_name ON public.connector_templates USING btree (lower(name));
CREATE TRIGGER note_delete AFTER DELETE ON public.connector_templates REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_connector_templates();
CREATE TRIGGER note_insert AFTER INSERT ON public.connector_templates REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_connector_templates();
CREATE TRIGGER note_update AFTER UPDATE ON public.connector_templates REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_connector_templates();

CREATE TABLE public.connectors (
    id uuid NOT NULL,
    application_id uuid NOT NULL,
    name text NOT NULL,
    vendor text NOT NULL,
    is_file_based boolean NOT NULL
);
ALTER TABLE ONLY public.connectors ADD CONSTRAINT connectors_application_id_key UNIQUE (application_id);
ALTER TABLE ONLY public.connectors ADD CONSTRAINT connectors_pkey PRIMARY KEY (id);
CREATE TRIGGER note_delete AFTER DELETE ON public.connectors REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_connectors();
CREATE TRIGGER note_insert AFTER INSERT ON public.connectors REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_connectors();
CREATE TRIGGER note_update AFTER UPDATE ON public.connectors REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_connectors();
ALTER TABLE ONLY public.connectors ADD CONSTRAINT connectors_application_id_fkey FOREIGN KEY (application_id) REFERENCES public.applications(id);

CREATE TABLE public.console_passwords (
    identity_id uuid NOT NULL,
    argon2 text NOT NULL,
    set_at timestamp with time zone NOT NULL
);
ALTER TABLE ONLY public.console_passwords ADD CONSTRAINT console_passwords_pkey PRIMARY KEY (identity_id);
CREATE TRIGGER note_delete AFTER DELETE ON public.console_passwords REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_console_passwords();
CREATE TRIGGER note_insert AFTER INSERT ON public.console_passwords REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_console_passwords();
CREATE TRIGGER note_update AFTER UPDATE ON public.console_passwords REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_console_passwords();
ALTER TABLE ONLY public.console_passwords ADD CONSTRAINT console_passwords_identity_id_fkey FOREIGN KEY (identity_id) REFERENCES public.identities(id);

CREATE TABLE public.console_roles (
    identity_id uuid NOT NULL,
    role text NOT NULL,
    email text DEFAULT ''::text NOT NULL,
    CONSTRAINT role_is_known CHECK ((role = ANY (ARRAY['Administrator'::text, 'People'::text, 'Operator'::text, 'Reviewer'::text, 'Provisioner'::text, 'Auditor'::text])))
);
ALTER TABLE ONLY public.console_roles ADD CONSTRAINT console_roles_pkey PRIMARY KEY (identity_id);
CREATE UNIQUE INDEX one_role_an_address ON public.console_roles USING btree (lower(email)) WHERE (email <> ''::text);
CREATE TRIGGER note_delete AFTER DELETE ON public.console_roles REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_console_roles();
CREATE TRIGGER note_insert AFTER INSERT ON public.console_roles REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_console_roles();
CREATE TRIGGER note_update AFTER UPDATE ON public.console_roles REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_console_roles();
ALTER TABLE ONLY public.console_roles ADD CONSTRAINT console_roles_identity_id_fkey FOREIGN KEY (identity_id) REFERENCES public.identities(id);

CREATE TABLE public.console_sessions (
    sha256 bytea NOT NULL,
    identity_id uuid NOT NULL,
    created_at timestamp with time zone NOT NULL,
    seen_at timestamp with time zone NOT NULL,
    notice text,
    notice_kind text
);
ALTER TABLE ONLY public.console_sessions ADD CONSTRAINT console_sessions_pkey PRIMARY KEY (sha256);
CREATE INDEX console_sessions_identity_id_idx ON public.console_sessions USING btree (identity_id);
CREATE INDEX console_sessions_seen_at_idx ON public.console_sessions USING btree (seen_at);
CREATE TRIGGER note_delete AFTER DELETE ON public.console_sessions REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_console_sessions();
CREATE TRIGGER note_insert AFTER INSERT ON public.console_sessions REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_console_sessions();
CREATE TRIGGER note_update AFTER UPDATE ON public.console_sessions REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_console_sessions();
ALTER TABLE ONLY public.console_sessions ADD CONSTRAINT console_sessions_identity_id_fkey FOREIGN KEY (identity_id) REFERENCES public.identities(id);

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
ALTER TABLE ONLY public.curations ADD CONSTRAINT curations_pkey PRIMARY KEY (entitlement_id);
CREATE INDEX curations_changed_on_idx ON public.curations USING btree (changed_on);
CREATE INDEX curations_same_as_idx ON public.curations USING btree (same_as) WHERE (same_as IS NOT NULL);
CREATE TRIGGER match_same_entitlements AFTER UPDATE OF same_as ON public.curations FOR EACH ROW WHEN ((old.same_as IS DISTINCT FROM new.same_as)) EXECUTE FUNCTION public.match_same_entitlements();
CREATE TRIGGER note_delete AFTER DELETE ON public.curations REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_curations();
CREATE TRIGGER note_insert AFTER INSERT ON public.curations REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_curations();
CREATE TRIGGER note_update AFTER UPDATE ON public.curations REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_curations();
CREATE TRIGGER recheck_requests AFTER UPDATE OF same_as ON public.curations FOR EACH ROW WHEN ((old.same_as IS DISTINCT FROM new.same_as)) EXECUTE FUNCTION public.recheck_all_requests();
ALTER TABLE ONLY public.curations ADD CONSTRAINT curations_owner_id_fkey FOREIGN KEY (owner_id) REFERENCES public.identities(id);

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
ALTER TABLE ONLY public.dry_run_files ADD CONSTRAINT dry_run_files_dry_run_id_position_key UNIQUE (dry_run_id, "position");
ALTER TABLE ONLY public.dry_run_files ADD CONSTRAINT dry_run_files_pkey PRIMARY KEY (id);
CREATE INDEX dry_run_files_location_idx ON public.dry_run_files USING btree (location);
ALTER TABLE ONLY public.dry_run_files ADD CONSTRAINT dry_run_files_dry_run_id_fkey FOREIGN KEY (dry_run_id) REFERENCES public.dry_runs(id) ON DELETE CASCADE;

CREATE TABLE public.dry_run_rejects (
    dry_run_id uuid NOT NULL,
    file_id uuid NOT NULL,
    line integer NOT NULL,
    reason text NOT NULL,
    "row" json NOT NULL
);
ALTER TABLE ONLY public.dry_run_rejects ADD CONSTRAINT dry_run_rejects_pkey PRIMARY KEY (dry_run_id, file_id, line);
ALTER TABLE ONLY public.dry_run_rejects ADD CONSTRAINT dry_run_rejects_dry_run_id_fkey FOREIGN KEY (dry_run_id) REFERENCES public.dry_runs(id) ON DELETE CASCADE;

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
ALTER TABLE ONLY public.dry_runs ADD CONSTRAINT dry_runs_pkey PRIMARY KEY (id);
CREATE INDEX dry_runs_at_work ON public.dry_runs USING btree (created_at) WHERE (status = ANY (ARRAY['Pending'::text, 'Running'::text]));
CREATE INDEX dry_runs_by_age ON public.dry_runs USING btree (created_at);
ALTER TABLE ONLY public.dry_runs ADD CONSTRAINT dry_runs_application_id_fkey FOREIGN KEY (application_id) REFERENCES public.applications(id);

CREATE TABLE public.duties (
    id uuid NOT NULL,
    name text NOT NULL,
    description text DEFAULT ''::text NOT NULL,
    patterns jsonb DEFAULT '[]'::jsonb NOT NULL,
    name_key text NOT NULL COLLATE pg_catalog."C",
    created_at timestamp with time zone NOT NULL,
    changed_at timestamp with time zone NOT NULL
);
ALTER TABLE ONLY public.duties ADD CONSTRAINT duties_pkey PRIMARY KEY (id);
CREATE UNIQUE INDEX duties_by_name ON public.duties USING btree (lower(name));
CREATE INDEX duties_in_order ON public.duties USING btree (name_key, id);
CREATE TRIGGER end_exceptions_of_duty AFTER UPDATE OF patterns ON public.duties FOR EACH ROW WHEN ((old.patterns <> new.patterns)) EXECUTE FUNCTION public.end_exceptions_of_duty();
CREATE TRIGGER note_delete AFTER DELETE ON public.duties REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_duties();
CREATE TRIGGER note_insert AFTER INSERT ON public.duties REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_duties();
CREATE TRIGGER note_update AFTER UPDATE ON public.duties REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_duties();
CREATE TRIGGER recheck_requests AFTER UPDATE OF patterns ON public.duties FOR EACH ROW WHEN ((old.patterns IS DISTINCT FROM new.patterns)) EXECUTE FUNCTION public.recheck_all_requests();

CREATE TABLE public.duty_entitlements (
    duty_id uuid NOT NULL,
    kind text NOT NULL,
    number integer NOT NULL,
    lowest integer NOT NULL
);
ALTER TABLE ONLY public.duty_entitlements ADD CONSTRAINT duty_entitlements_pkey PRIMARY KEY (duty_id, kind, number);
CREATE INDEX duty_entitlements_kind_number_idx ON public.duty_entitlements USING btree (kind, number);
ALTER TABLE ONLY public.duty_entitlements ADD CONSTRAINT duty_entitlements_duty_id_fkey FOREIGN KEY (duty_id) REFERENCES public.duties(id) ON DELETE CASCADE;

CREATE TABLE public.duty_groups (
    duty_id uuid NOT NULL,
    group_number integer NOT NULL
);
ALTER TABLE ONLY public.duty_groups ADD CONSTRAINT duty_groups_pkey PRIMARY KEY (duty_id, group_number);
CREATE INDEX duty_groups_group_number_idx ON public.duty_groups USING btree (group_number);
CREATE TRIGGER recheck_requests AFTER INSERT ON public.duty_groups REFERENCING NEW TABLE AS changed_rows FOR EACH STATEMENT EXECUTE FUNCTION public.recheck_requests_of_groups();
CREATE TRIGGER recheck_requests_on_delete AFTER DELETE ON public.duty_groups REFERENCING OLD TABLE AS changed_rows FOR EACH STATEMENT EXECUTE FUNCTION public.recheck_requests_of_groups();
ALTER TABLE ONLY public.duty_groups ADD CONSTRAINT duty_groups_duty_id_fkey FOREIGN KEY (duty_id) REFERENCES public.duties(id) ON DELETE CASCADE;

CREATE TABLE public.duty_holders (
    duty_id uuid NOT NULL,
    identity_id uuid NOT NULL,
    list_key text NOT NULL COLLATE pg_catalog."C"
);
ALTER TABLE ONLY public.duty_holders ADD CONSTRAINT duty_holders_pkey PRIMARY KEY (identity_id, duty_id);
CREATE INDEX duty_holders_listed_duty_id ON public.duty_holders USING btree (duty_id, list_key);
CREATE TRIGGER end_outgrown_exceptions AFTER INSERT ON public.duty_holders FOR EACH STATEMENT EXECUTE FUNCTION public.end_outgrown_exceptions();
CREATE TRIGGER keep_list_on_delete AFTER DELETE ON public.duty_holders REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_duty_holders_on_delete();
CREATE TRIGGER keep_list_on_insert AFTER INSERT ON public.duty_holders REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_duty_holders_on_insert();
CREATE TRIGGER keep_list_on_truncate AFTER TRUNCATE ON public.duty_holders FOR EACH STATEMENT EXECUTE FUNCTION public.empty_list();
CREATE TRIGGER keep_list_on_update AFTER UPDATE ON public.duty_holders REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_duty_holders_on_update();
CREATE TRIGGER recheck_requests_on_delete AFTER DELETE ON public.duty_holders REFERENCING OLD TABLE AS changed_rows FOR EACH STATEMENT EXECUTE FUNCTION public.recheck_requests_of_holders();
CREATE TRIGGER recheck_requests_on_insert AFTER INSERT ON public.duty_holders REFERENCING NEW TABLE AS changed_rows FOR EACH STATEMENT EXECUTE FUNCTION public.recheck_requests_of_holders();

CREATE TABLE public.duty_rule_duties (
    rule_id uuid NOT NULL,
    duty_id uuid NOT NULL,
    is_control boolean NOT NULL
);
ALTER TABLE ONLY public.duty_rule_duties ADD CONSTRAINT duty_rule_duties_pkey PRIMARY KEY (rule_id, duty_id);
CREATE INDEX duty_rule_duties_duty_id_idx ON public.duty_rule_duties USING btree (duty_id);
CREATE TRIGGER end_outgrown_exceptions AFTER INSERT ON public.duty_rule_duties FOR EACH STATEMENT EXECUTE FUNCTION public.end_outgrown_exceptions();
ALTER TABLE ONLY public.duty_rule_duties ADD CONSTRAINT duty_rule_duties_duty_id_fkey FOREIGN KEY (duty_id) REFERENCES public.duties(id);
ALTER TABLE ONLY public.duty_rule_duties ADD CONSTRAINT duty_rule_duties_rule_id_fkey FOREIGN KEY (rule_id) REFERENCES public.duty_rules(id);

CREATE TABLE public.duty_rule_versions (
    rule_id uuid NOT NULL,
    version integer NOT NULL,
    definition jsonb NOT NULL,
    committed_at timestamp with time zone NOT NULL,
    caller_id uuid NOT NULL,
    caller_name text NOT NULL
);
ALTER TABLE ONLY public.duty_rule_versions ADD CONSTRAINT duty_rule_versions_pkey PRIMARY KEY (rule_id, version);
ALTER TABLE ONLY public.duty_rule_versions ADD CONSTRAINT duty_rule_versions_rule_id_fkey FOREIGN KEY (rule_id) REFERENCES public.duty_rules(id);

CREATE TABLE public.duty_rules (
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
ALTER TABLE ONLY public.duty_rules ADD CONSTRAINT duty_rules_pkey PRIMARY KEY (id);
CREATE INDEX duty_rules_in_order ON public.duty_rules USING btree (name_key, id);
CREATE UNIQUE INDEX duty_rules_name_idx ON public.duty_rules USING btree (name);
CREATE TRIGGER drop_approvals_of_rule AFTER UPDATE OF definition ON public.duty_rules FOR EACH ROW WHEN (((old.definition ->> 'ownerId'::text) IS DISTINCT FROM (new.definition ->> 'ownerId'::text))) EXECUTE FUNCTION public.drop_approvals_of_rule();
CREATE TRIGGER note_delete AFTER DELETE ON public.duty_rules REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_duty_rules();
CREATE TRIGGER note_insert AFTER INSERT ON public.duty_rules REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_duty_rules();
CREATE TRIGGER note_update AFTER UPDATE ON public.duty_rules REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_duty_rules();
CREATE TRIGGER recheck_requests AFTER UPDATE OF definition ON public.duty_rules FOR EACH ROW WHEN ((old.definition IS DISTINCT FROM new.definition)) EXECUTE FUNCTION public.recheck_all_requests();

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
    curated_risk text,
    CONSTRAINT curated_risk_is_known CHECK ((curated_risk = ANY (ARRAY['None'::text, 'Low'::text, 'Moderate'::text, 'High'::text, 'Critical'::text]))),
    CONSTRAINT kind_is_known CHECK ((kind = ANY (ARRAY['Group'::text, 'Permission'::text]))),
    CONSTRAINT risk_rating_is_known CHECK ((risk_rating = ANY (ARRAY['None'::text, 'Low'::text, 'Moderate'::text, 'High'::text, 'Critical'::text])))
);
ALTER TABLE ONLY public.entitlements ADD CONSTRAINT entitlements_kind_number_key UNIQUE (kind, number);
ALTER TABLE ONLY public.entitlements ADD CONSTRAINT entitlements_pkey PRIMARY KEY (id);
CREATE INDEX entitlements_by_curated_risk ON public.entitlements USING btree (id) WHERE (curated_risk IS NOT NULL);
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
CREATE TRIGGER keep_list_on_delete AFTER DELETE ON public.entitlements REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_entitlements_on_delete();
CREATE TRIGGER keep_list_on_insert AFTER INSERT ON public.entitlements REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_entitlements_on_insert();
CREATE TRIGGER keep_list_on_truncate AFTER TRUNCATE ON public.entitlements FOR EACH STATEMENT EXECUTE FUNCTION public.empty_list();
CREATE TRIGGER keep_list_on_update AFTER UPDATE ON public.entitlements REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_entitlements_on_update();

CREATE TABLE public.event_news (
    number bigint NOT NULL,
    event_id uuid NOT NULL,
    caller_id uuid NOT NULL,
    caller_name text NOT NULL
);
ALTER TABLE public.event_news ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY ( SEQUENCE NAME public.event_news_number_seq START WITH 1 INCREMENT BY 1 NO MINVALUE NO MAXVALUE CACHE 1 );
ALTER TABLE ONLY public.event_news ADD CONSTRAINT event_news_pkey PRIMARY KEY (number);
CREATE INDEX event_news_event_id_idx ON public.event_news USING btree (event_id);

CREATE TABLE public.exception_approvals (
    exception_id uuid NOT NULL,
    "position" integer NOT NULL,
    part text NOT NULL,
    approver_id uuid NOT NULL,
    approver_name text NOT NULL,
    approved_on timestamp with time zone NOT NULL,
    stand_in_id uuid,
    stand_in_name text,
    recorder_id uuid NOT NULL,
    through_ids uuid[] DEFAULT '{}'::uuid[] NOT NULL,
    CONSTRAINT stand_in_has_a_name CHECK (((stand_in_id IS NULL) = (stand_in_name IS NULL)))
);
ALTER TABLE ONLY public.exception_approvals ADD CONSTRAINT exception_approvals_pkey PRIMARY KEY (exception_id, "position");
CREATE TRIGGER note_delete AFTER DELETE ON public.exception_approvals REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_exception_approvals();
CREATE TRIGGER note_insert AFTER INSERT ON public.exception_approvals REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_exception_approvals();
CREATE TRIGGER note_update AFTER UPDATE ON public.exception_approvals REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_exception_approvals();
CREATE TRIGGER notify_of_approval AFTER INSERT ON public.exception_approvals FOR EACH ROW EXECUTE FUNCTION public.notify_of_approval();
CREATE CONSTRAINT TRIGGER notify_of_removed_approval AFTER DELETE ON public.exception_approvals DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.notify_of_removed_approval();
ALTER TABLE ONLY public.exception_approvals ADD CONSTRAINT exception_approvals_exception_id_fkey FOREIGN KEY (exception_id) REFERENCES public.conflict_exceptions(id);

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
    no_data_before jsonb DEFAULT '[]'::jsonb NOT NULL,
    CONSTRAINT finished_is_whole CHECK (((status <> 'Finished'::text) OR ((sha256 IS NOT NULL) AND (row_count IS NOT NULL) AND (byte_count IS NOT NULL)))),
    CONSTRAINT format_is_known CHECK ((format = ANY (ARRAY['csv'::text, 'xlsx'::text, 'jsonl'::text, 'parquet'::text]))),
    CONSTRAINT status_is_known CHECK ((status = ANY (ARRAY['Running'::text, 'Finished'::text, 'Failed'::text, 'Abandoned'::text])))
);
ALTER TABLE public.exports ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY ( SEQUENCE NAME public.exports_number_seq START WITH 1 INCREMENT BY 1 NO MINVALUE NO MAXVALUE CACHE 1 );
ALTER TABLE ONLY public.exports ADD CONSTRAINT exports_number_key UNIQUE (number);
ALTER TABLE ONLY public.exports ADD CONSTRAINT exports_pkey PRIMARY KEY (id);
CREATE INDEX exports_caller_id_list_key_idx ON public.exports USING btree (caller_id, list_key);
CREATE UNIQUE INDEX exports_listed_ ON public.exports USING btree (list_key);
CREATE INDEX exports_report_id_list_key_idx ON public.exports USING btree (report_id, list_key);
CREATE INDEX exports_running ON public.exports USING btree (started_on) WHERE (status = 'Running'::text);
CREATE TRIGGER keep_list_on_delete AFTER DELETE ON public.exports REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_exports_on_delete();
CREATE TRIGGER keep_list_on_insert AFTER INSERT ON public.exports REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_exports_on_insert();
CREATE TRIGGER keep_list_on_truncate AFTER TRUNCATE ON public.exports FOR EACH STATEMENT EXECUTE FUNCTION public.empty_list();
CREATE TRIGGER keep_list_on_update AFTER UPDATE ON public.exports REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_exports_on_update();
CREATE TRIGGER note_delete AFTER DELETE ON public.exports REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_exports();
CREATE TRIGGER note_insert AFTER INSERT ON public.exports REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_exports();
CREATE TRIGGER note_update AFTER UPDATE ON public.exports REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_exports();

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
ALTER TABLE ONLY public.file_groups ADD CONSTRAINT file_groups_connector_id_name_key UNIQUE (connector_id, name);
ALTER TABLE ONLY public.file_groups ADD CONSTRAINT file_groups_pkey PRIMARY KEY (id);
CREATE TRIGGER note_delete AFTER DELETE ON public.file_groups REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_file_groups();
CREATE TRIGGER note_insert AFTER INSERT ON public.file_groups REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_file_groups();
CREATE TRIGGER note_update AFTER UPDATE ON public.file_groups REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_file_groups();
ALTER TABLE ONLY public.file_groups ADD CONSTRAINT file_groups_connector_id_fkey FOREIGN KEY (connector_id) REFERENCES public.connectors(id) ON DELETE CASCADE;

CREATE TABLE public.finished_imports (
    import_id uuid NOT NULL,
    application_id uuid NOT NULL
);
ALTER TABLE ONLY public.finished_imports ADD CONSTRAINT finished_imports_pkey PRIMARY KEY (import_id);
ALTER TABLE ONLY public.finished_imports ADD CONSTRAINT finished_imports_application_id_fkey FOREIGN KEY (application_id) REFERENCES public.applications(id);
ALTER TABLE ONLY public.finished_imports ADD CONSTRAINT finished_imports_import_id_fkey FOREIGN KEY (import_id) REFERENCES public.application_imports(id);

CREATE TABLE public.group_listings (
    group_number integer NOT NULL,
    from_import integer NOT NULL,
    until_import integer
);
ALTER TABLE ONLY public.group_listings ADD CONSTRAINT group_listings_pkey PRIMARY KEY (group_number, from_import);
CREATE INDEX group_listings_from_import_idx ON public.group_listings USING btree (from_import);
CREATE INDEX group_listings_until_import_idx ON public.group_listings USING btree (until_import) WHERE (until_import IS NOT NULL);

CREATE TABLE public.group_versions (
    group_number integer NOT NULL,
    from_import integer NOT NULL,
    until_import integer,
    description text NOT NULL,
    nomenclature text NOT NULL,
    parent text NOT NULL,
    metadata text NOT NULL
);
ALTER TABLE ONLY public.group_versions ADD CONSTRAINT group_versions_pkey PRIMARY KEY (group_number, from_import);
CREATE INDEX group_versions_by_parent ON public.group_versions USING btree (public.in_any_case(parent)) WHERE (parent <> ''::text);
CREATE INDEX group_versions_from_import_idx ON public.group_versions USING btree (from_import);
CREATE INDEX group_versions_until_import_idx ON public.group_versions USING btree (until_import) WHERE (until_import IS NOT NULL);

CREATE TABLE public.groups (
    number integer DEFAULT nextval('public.holder_numbers'::regclass) NOT NULL,
    id uuid DEFAULT gen_random_uuid() NOT NULL,
    application_id uuid NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C"
);
ALTER TABLE ONLY public.groups ADD CONSTRAINT groups_application_id_name_key UNIQUE (application_id, name);
ALTER TABLE ONLY public.groups ADD CONSTRAINT groups_id_key UNIQUE (id);
ALTER TABLE ONLY public.groups ADD CONSTRAINT groups_pkey PRIMARY KEY (number);
CREATE INDEX groups_in_any_case ON public.groups USING btree (application_id, public.in_any_case(name));

CREATE TABLE public.heartbeats (
    worker_id uuid NOT NULL,
    started_at timestamp with time zone DEFAULT now() NOT NULL,
    beaten_at timestamp with time zone DEFAULT now() NOT NULL
);
ALTER TABLE ONLY public.heartbeats ADD CONSTRAINT heartbeats_pkey PRIMARY KEY (worker_id);

CREATE TABLE public.holder_counts (
    entitlement_id uuid NOT NULL,
    import_number integer NOT NULL,
    matching bigint NOT NULL,
    accounts integer NOT NULL,
    identities integer NOT NULL
);
ALTER TABLE ONLY public.holder_counts ADD CONSTRAINT holder_counts_pkey PRIMARY KEY (entitlement_id);

CREATE SEQUENCE public.holder_numbers AS integer START WITH 1 INCREMENT BY 1 NO MINVALUE NO MAXVALUE CACHE 1;

CREATE TABLE public.idempotency_keys (
    token_id uuid NOT NULL,
    key text NOT NULL,
    digest bytea NOT NULL,
    status integer,
    answer bytea,
    created_at timestamp with time zone NOT NULL
);
ALTER TABLE ONLY public.idempotency_keys ADD CONSTRAINT idempotency_keys_pkey PRIMARY KEY (token_id, key);
CREATE INDEX idempotency_keys_created_at_idx ON public.idempotency_keys USING btree (created_at);
ALTER TABLE ONLY public.idempotency_keys ADD CONSTRAINT idempotency_keys_token_id_fkey FOREIGN KEY (token_id) REFERENCES public.tokens(id);

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
ALTER TABLE ONLY public.identities ADD CONSTRAINT identities_pkey PRIMARY KEY (id);
CREATE INDEX identities_by_department ON public.identities USING btree (lower(department), list_key) WHERE (department <> ''::text);
CREATE INDEX identities_by_email_beginning ON public.identities USING btree (lower(email_address) COLLATE "C") WHERE (email_address <> ''::text);
CREATE INDEX identities_by_first_name ON public.identities USING btree ("left"(first_name_key, 300), list_key);
CREATE UNIQUE INDEX identities_employee_id_idx ON public.identities USING btree (employee_id) WHERE (employee_id IS NOT NULL);
CREATE INDEX identities_left ON public.identities USING btree (status, list_key) WHERE (status <> 'Active'::text);
CREATE INDEX identities_listed_ ON public.identities USING btree (list_key);
CREATE INDEX identities_lower_idx ON public.identities USING btree (lower(email_address)) WHERE (email_address <> ''::text);
CREATE INDEX identities_lower_idx1 ON public.identities USING btree (lower(employee_id)) WHERE (employee_id IS NOT NULL);
CREATE INDEX identities_supervisor_id_idx ON public.identities USING btree (supervisor_id);
CREATE TRIGGER confirm_email AFTER UPDATE OF email_address ON public.identities FOR EACH ROW WHEN ((old.email_address <> new.email_address)) EXECUTE FUNCTION public.confirm_email();
CREATE TRIGGER end_former_rights AFTER UPDATE OF status ON public.identities FOR EACH ROW WHEN (((old.status <> 'Active'::text) AND (new.status = 'Active'::text))) EXECUTE FUNCTION public.end_former_rights();
CREATE TRIGGER end_sign_ins AFTER UPDATE OF status ON public.identities FOR EACH ROW WHEN (((old.status = 'Active'::text) AND (new.status <> 'Active'::text))) EXECUTE FUNCTION public.end_sign_ins();
CREATE TRIGGER end_sign_ins_of_email AFTER UPDATE OF email_address ON public.identities FOR EACH ROW WHEN ((lower(old.email_address) <> lower(new.email_address))) EXECUTE FUNCTION public.end_sign_ins();
CREATE TRIGGER end_sign_ins_of_found AFTER UPDATE OF employee_id ON public.identities FOR EACH ROW WHEN (((old.employee_id IS NULL) AND (new.employee_id IS NOT NULL))) EXECUTE FUNCTION public.end_sign_ins_of_found();
CREATE TRIGGER keep_list_on_delete AFTER DELETE ON public.identities REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_identities_on_delete();
CREATE TRIGGER keep_list_on_insert AFTER INSERT ON public.identities REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_identities_on_insert();
CREATE TRIGGER keep_list_on_truncate AFTER TRUNCATE ON public.identities FOR EACH STATEMENT EXECUTE FUNCTION public.empty_list();
CREATE TRIGGER keep_list_on_update AFTER UPDATE ON public.identities REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_identities_on_update();
CREATE TRIGGER keep_past_departures AFTER UPDATE ON public.identities REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_past_departures();
CREATE TRIGGER move_duty_holders AFTER UPDATE ON public.identities REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.move_duty_holders();
CREATE TRIGGER note_acting_owners AFTER UPDATE ON public.identities REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_acting_owners();
CREATE TRIGGER note_delete AFTER DELETE ON public.identities REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_identities();
CREATE TRIGGER note_insert AFTER INSERT ON public.identities REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_identities();
CREATE TRIGGER note_to_match_on_insert AFTER INSERT ON public.identities REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_identities_to_match();
CREATE TRIGGER note_to_match_on_update AFTER UPDATE ON public.identities REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_identities_to_match();
CREATE TRIGGER note_update AFTER UPDATE ON public.identities REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_identities();
CREATE TRIGGER notify_of_acting_owners AFTER UPDATE ON public.identities REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.notify_of_acting_owners();
CREATE TRIGGER notify_of_left_control_owners AFTER UPDATE ON public.identities REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.notify_of_left_control_owners();
CREATE TRIGGER refresh_members_on_insert AFTER INSERT ON public.identities REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.refresh_access_model_members();
CREATE TRIGGER refresh_members_on_update AFTER UPDATE ON public.identities REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.refresh_access_model_members();
ALTER TABLE ONLY public.identities ADD CONSTRAINT identities_supervisor_id_fkey FOREIGN KEY (supervisor_id) REFERENCES public.identities(id);

CREATE TABLE public.identities_to_evaluate (
    number bigint NOT NULL,
    identity_id uuid NOT NULL
);
ALTER TABLE public.identities_to_evaluate ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY ( SEQUENCE NAME public.identities_to_evaluate_number_seq START WITH 1 INCREMENT BY 1 NO MINVALUE NO MAXVALUE CACHE 1 );
ALTER TABLE ONLY public.identities_to_evaluate ADD CONSTRAINT identities_to_evaluate_pkey PRIMARY KEY (number);

CREATE TABLE public.identities_to_match (
    number bigint NOT NULL,
    identity_id uuid NOT NULL,
    employee_id text,
    email_address text NOT NULL,
    last_name_key text NOT NULL COLLATE pg_catalog."C",
    first_name_key text NOT NULL COLLATE pg_catalog."C"
);
ALTER TABLE public.identities_to_match ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY ( SEQUENCE NAME public.identities_to_match_number_seq START WITH 1 INCREMENT BY 1 NO MINVALUE NO MAXVALUE CACHE 1 );
ALTER TABLE ONLY public.identities_to_match ADD CONSTRAINT identities_to_match_pkey PRIMARY KEY (number);

CREATE TABLE public.identity_versions (
    identity_id uuid NOT NULL,
    application_id uuid NOT NULL,
    employee_id text NOT NULL,
    from_import integer NOT NULL,
    until_import integer,
    fields json NOT NULL
);
ALTER TABLE ONLY public.identity_versions ADD CONSTRAINT identity_versions_pkey PRIMARY KEY (identity_id, application_id, from_import);
CREATE INDEX identity_versions_application_id_employee_id_idx ON public.identity_versions USING btree (application_id, employee_id) WHERE (until_import IS NULL);
CREATE INDEX identity_versions_from_import_idx ON public.identity_versions USING btree (from_import);
CREATE INDEX identity_versions_until_import_idx ON public.identity_versions USING btree (until_import) WHERE (until_import IS NOT NULL);

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
ALTER TABLE ONLY public.import_files ADD CONSTRAINT import_files_import_id_position_key UNIQUE (import_id, "position");
ALTER TABLE ONLY public.import_files ADD CONSTRAINT import_files_location_key UNIQUE (location);
ALTER TABLE ONLY public.import_files ADD CONSTRAINT import_files_pkey PRIMARY KEY (id);
CREATE TRIGGER note_delete AFTER DELETE ON public.import_files REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_import_files();
CREATE TRIGGER note_insert AFTER INSERT ON public.import_files REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_import_files();
CREATE TRIGGER note_update AFTER UPDATE ON public.import_files REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_import_files();
ALTER TABLE ONLY public.import_files ADD CONSTRAINT import_files_import_id_fkey FOREIGN KEY (import_id) REFERENCES public.application_imports(id);

CREATE TABLE public.import_log (
    number bigint NOT NULL,
    import_id uuid NOT NULL,
    line text NOT NULL
);
ALTER TABLE public.import_log ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY ( SEQUENCE NAME public.import_log_number_seq START WITH 1 INCREMENT BY 1 NO MINVALUE NO MAXVALUE CACHE 1 );
ALTER TABLE ONLY public.import_log ADD CONSTRAINT import_log_pkey PRIMARY KEY (number);
CREATE INDEX import_log_import_id_number_idx ON public.import_log USING btree (import_id, number);
ALTER TABLE ONLY public.import_log ADD CONSTRAINT import_log_import_id_fkey FOREIGN KEY (import_id) REFERENCES public.application_imports(id);

CREATE TABLE public.import_rejects (
    import_id uuid NOT NULL,
    file_id uuid NOT NULL,
    line integer NOT NULL,
    reason text NOT NULL,
    "row" json NOT NULL
);
ALTER TABLE ONLY public.import_rejects ADD CONSTRAINT import_rejects_pkey PRIMARY KEY (import_id, file_id, line);
ALTER TABLE ONLY public.import_rejects ADD CONSTRAINT import_rejects_import_id_fkey FOREIGN KEY (import_id) REFERENCES public.application_imports(id);

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
ALTER TABLE ONLY public.import_runs ADD CONSTRAINT import_runs_pkey PRIMARY KEY (import_id);
CREATE TRIGGER note_delete AFTER DELETE ON public.import_runs REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_import_runs();
CREATE TRIGGER note_insert AFTER INSERT ON public.import_runs REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_import_runs();
CREATE TRIGGER note_update AFTER UPDATE ON public.import_runs REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_import_runs();
CREATE TRIGGER notify_of_held_import AFTER UPDATE OF held ON public.import_runs FOR EACH ROW WHEN (((new.held IS NOT NULL) AND (old.held IS NULL))) EXECUTE FUNCTION public.notify_of_held_import();
ALTER TABLE ONLY public.import_runs ADD CONSTRAINT import_runs_import_id_fkey FOREIGN KEY (import_id) REFERENCES public.application_imports(id);

CREATE TABLE public.imports_to_review (
    import_number integer NOT NULL,
    application_id uuid NOT NULL
);
ALTER TABLE ONLY public.imports_to_review ADD CONSTRAINT imports_to_review_pkey PRIMARY KEY (import_number);

CREATE TABLE public.list_changes (
    number bigint NOT NULL,
    list text NOT NULL,
    key text NOT NULL COLLATE pg_catalog."C",
    facets jsonb NOT NULL,
    rows integer NOT NULL
);
ALTER TABLE public.list_changes ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY ( SEQUENCE NAME public.list_changes_number_seq START WITH 1 INCREMENT BY 1 NO MINVALUE NO MAXVALUE CACHE 1 );
CREATE INDEX list_changes_list_idx ON public.list_changes USING btree (list);

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
ALTER TABLE ONLY public.list_contents ADD CONSTRAINT list_contents_pkey PRIMARY KEY (list, facet);

CREATE TABLE public.lists (
    name text NOT NULL,
    facets text[] NOT NULL,
    within text[] DEFAULT '{}'::text[] NOT NULL
);
ALTER TABLE ONLY public.lists ADD CONSTRAINT lists_pkey PRIMARY KEY (name);

CREATE TABLE public.matchings (
    application_id uuid NOT NULL,
    number bigint NOT NULL
);
ALTER TABLE ONLY public.matchings ADD CONSTRAINT matchings_pkey PRIMARY KEY (application_id);

CREATE TABLE public.memberships (
    account_number integer NOT NULL,
    group_number integer NOT NULL,
    from_import integer NOT NULL,
    until_import integer
);
ALTER TABLE ONLY public.memberships ADD CONSTRAINT memberships_pkey PRIMARY KEY (account_number, group_number, from_import);
CREATE INDEX memberships_from_import_idx ON public.memberships USING brin (from_import);
CREATE INDEX memberships_group_number_idx ON public.memberships USING btree (group_number);
CREATE INDEX memberships_until_import_idx ON public.memberships USING btree (until_import) WHERE (until_import IS NOT NULL);

CREATE TABLE public.migrations (
    name text NOT NULL,
    sha256 text NOT NULL,
    applied_at timestamp with time zone DEFAULT now() NOT NULL
);
ALTER TABLE ONLY public.migrations ADD CONSTRAINT migrations_pkey PRIMARY KEY (name);

CREATE TABLE public.notification_channels (
    channel text NOT NULL,
    failures integer DEFAULT 0 NOT NULL,
    failing_since timestamp with time zone,
    last_error text,
    paused_until timestamp with time zone
);
ALTER TABLE ONLY public.notification_channels ADD CONSTRAINT notification_channels_pkey PRIMARY KEY (channel);
CREATE TRIGGER notify_of_failing_channel AFTER UPDATE OF failing_since ON public.notification_channels FOR EACH ROW WHEN (((new.failing_since IS NOT NULL) AND (old.failing_since IS NULL))) EXECUTE FUNCTION public.notify_of_failing_channel();

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
    CONSTRAINT outcome_is_known CHECK ((outcome = ANY (ARRAY['sending'::text, 'sent'::text, 'kept'::text, 'deferred'::text, 'refused'::text, 'channel'::text, 'unknown'::text, 'bounced'::text, 'unwritten'::text])))
)
WITH (toast_tuple_target='256');
ALTER TABLE public.notification_messages ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY ( SEQUENCE NAME public.notification_messages_number_seq START WITH 1 INCREMENT BY 1 NO MINVALUE NO MAXVALUE CACHE 1 );
ALTER TABLE ONLY public.notification_messages ADD CONSTRAINT notification_messages_pkey PRIMARY KEY (id);
CREATE UNIQUE INDEX notification_messages_listed_ ON public.notification_messages USING btree (list_key);
CREATE INDEX notification_messages_listed_outcome ON public.notification_messages USING btree (outcome, list_key);
CREATE TRIGGER keep_list_on_delete AFTER DELETE ON public.notification_messages REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_notification_messages_on_delete();
CREATE TRIGGER keep_list_on_insert AFTER INSERT ON public.notification_messages REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_notification_messages_on_insert();
CREATE TRIGGER keep_list_on_truncate AFTER TRUNCATE ON public.notification_messages FOR EACH STATEMENT EXECUTE FUNCTION public.empty_list();
CREATE TRIGGER keep_list_on_update AFTER UPDATE ON public.notification_messages REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_notification_messages_on_update();
ALTER TABLE ONLY public.notification_messages ADD CONSTRAINT notification_messages_identity_id_fkey FOREIGN KEY (identity_id) REFERENCES public.identities(id);

CREATE TABLE public.notification_preferences (
    identity_id uuid NOT NULL,
    kind text NOT NULL,
    channel text NOT NULL,
    rhythm text NOT NULL
);
ALTER TABLE ONLY public.notification_preferences ADD CONSTRAINT notification_preferences_pkey PRIMARY KEY (identity_id, kind);
CREATE TRIGGER note_delete AFTER DELETE ON public.notification_preferences REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_notification_preferences();
CREATE TRIGGER note_insert AFTER INSERT ON public.notification_preferences REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_notification_preferences();
CREATE TRIGGER note_update AFTER UPDATE ON public.notification_preferences REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_notification_preferences();
ALTER TABLE ONLY public.notification_preferences ADD CONSTRAINT notification_preferences_identity_id_fkey FOREIGN KEY (identity_id) REFERENCES public.identities(id);

CREATE TABLE public.notification_secrets (
    channel text NOT NULL,
    secret bytea NOT NULL,
    set_on timestamp with time zone NOT NULL
);
ALTER TABLE ONLY public.notification_secrets ADD CONSTRAINT notification_secrets_pkey PRIMARY KEY (channel);
CREATE TRIGGER note_delete AFTER DELETE ON public.notification_secrets REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_notification_secrets();
CREATE TRIGGER note_insert AFTER INSERT ON public.notification_secrets REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_notification_secrets();
CREATE TRIGGER note_update AFTER UPDATE ON public.notification_secrets REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_notification_secrets();

CREATE TABLE public.notification_settings (
    name text NOT NULL,
    value jsonb NOT NULL
);
ALTER TABLE ONLY public.notification_settings ADD CONSTRAINT notification_settings_pkey PRIMARY KEY (name);
CREATE TRIGGER note_delete AFTER DELETE ON public.notification_settings REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_notification_settings();
CREATE TRIGGER note_insert AFTER INSERT ON public.notification_settings REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_notification_settings();
CREATE TRIGGER note_update AFTER UPDATE ON public.notification_settings REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_notification_settings();

CREATE TABLE public.notification_steps (
    request_id uuid NOT NULL,
    since timestamp with time zone NOT NULL,
    step text NOT NULL
);
ALTER TABLE ONLY public.notification_steps ADD CONSTRAINT notification_steps_pkey PRIMARY KEY (request_id, since, step);
ALTER TABLE ONLY public.notification_steps ADD CONSTRAINT notification_steps_request_id_fkey FOREIGN KEY (request_id) REFERENCES public.access_requests(id);

CREATE TABLE public.notification_template_faults (
    kind text NOT NULL,
    problem text NOT NULL,
    noticed_on timestamp with time zone NOT NULL
);
ALTER TABLE ONLY public.notification_template_faults ADD CONSTRAINT notification_template_faults_pkey PRIMARY KEY (kind);

CREATE TABLE public.notification_zones (
    identity_id uuid NOT NULL,
    zone text NOT NULL
);
ALTER TABLE ONLY public.notification_zones ADD CONSTRAINT notification_zones_pkey PRIMARY KEY (identity_id);
CREATE TRIGGER note_delete AFTER DELETE ON public.notification_zones REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_notification_zones();
CREATE TRIGGER note_insert AFTER INSERT ON public.notification_zones REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_notification_zones();
CREATE TRIGGER note_update AFTER UPDATE ON public.notification_zones REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_notification_zones();
ALTER TABLE ONLY public.notification_zones ADD CONSTRAINT notification_zones_identity_id_fkey FOREIGN KEY (identity_id) REFERENCES public.identities(id);

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
    CONSTRAINT item_kind_is_known CHECK ((item_kind = ANY (ARRAY['Access Request'::text, 'Personnel Event'::text, 'Import'::text, 'Webhook'::text, 'Channel'::text, 'Exception'::text, 'Report'::text, 'Application'::text, 'Stand-In'::text, 'Duty Rule'::text, 'Review'::text, 'Review Template'::text]))),
    CONSTRAINT only_unsent_is_due CHECK (((status = ANY (ARRAY['New'::text, 'Pending'::text])) = (next_attempt_on IS NOT NULL))),
    CONSTRAINT pending_has_a_bundle CHECK (((status <> 'Pending'::text) OR ((bundle IS NOT NULL) AND (channel IS NOT NULL)))),
    CONSTRAINT status_is_known CHECK ((status = ANY (ARRAY['New'::text, 'Pending'::text, 'Sent'::text, 'Failed'::text, 'Withdrawn'::text, 'Console'::text])))
);
ALTER TABLE public.notifications ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY ( SEQUENCE NAME public.notifications_number_seq START WITH 1 INCREMENT BY 1 NO MINVALUE NO MAXVALUE CACHE 1 );
ALTER TABLE ONLY public.notifications ADD CONSTRAINT notifications_pkey PRIMARY KEY (id);
CREATE INDEX notifications_bundled ON public.notifications USING btree (bundle) WHERE (status = 'Pending'::text);
CREATE INDEX notifications_due ON public.notifications USING btree (next_attempt_on, number) WHERE (status = 'Pending'::text);
CREATE INDEX notifications_in_flight ON public.notifications USING btree (message_id) WHERE (lease IS NOT NULL);
CREATE UNIQUE INDEX notifications_listed_ ON public.notifications USING btree (list_key);
CREATE INDEX notifications_listed_identity_id ON public.notifications USING btree (identity_id, list_key);
CREATE INDEX notifications_listed_identity_id_is_read ON public.notifications USING btree (identity_id, is_read, list_key);
CREATE INDEX notifications_listed_is_read ON public.notifications USING btree (is_read, list_key);
CREATE INDEX notifications_new ON public.notifications USING btree (number) WHERE (status = 'New'::text);
CREATE INDEX notifications_unread ON public.notifications USING btree (item_id) WHERE (NOT is_read);
CREATE TRIGGER keep_list_on_delete AFTER DELETE ON public.notifications REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_notifications_on_delete();
CREATE TRIGGER keep_list_on_insert AFTER INSERT ON public.notifications REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_notifications_on_insert();
CREATE TRIGGER keep_list_on_truncate AFTER TRUNCATE ON public.notifications FOR EACH STATEMENT EXECUTE FUNCTION public.empty_list();
CREATE TRIGGER keep_list_on_update AFTER UPDATE ON public.notifications REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_notifications_on_update();
ALTER TABLE ONLY public.notifications ADD CONSTRAINT notifications_identity_id_fkey FOREIGN KEY (identity_id) REFERENCES public.identities(id);

CREATE TABLE public.past_departures (
    identity_id uuid NOT NULL,
    since timestamp with time zone NOT NULL,
    until timestamp with time zone NOT NULL
);
ALTER TABLE ONLY public.past_departures ADD CONSTRAINT past_departures_pkey PRIMARY KEY (identity_id, since);

CREATE TABLE public.past_matches (
    account_number integer NOT NULL,
    identity_id uuid NOT NULL,
    since timestamp with time zone NOT NULL,
    until timestamp with time zone NOT NULL,
    match text
);
ALTER TABLE ONLY public.past_matches ADD CONSTRAINT past_matches_pkey PRIMARY KEY (account_number, since);
CREATE INDEX past_matches_by_since ON public.past_matches USING btree (since);
CREATE INDEX past_matches_by_until ON public.past_matches USING btree (until);
CREATE INDEX past_matches_identity_id_idx ON public.past_matches USING btree (identity_id);

CREATE TABLE public.past_model_members (
    identity_id uuid NOT NULL,
    model_id uuid NOT NULL,
    since timestamp with time zone NOT NULL,
    until timestamp with time zone NOT NULL
);
ALTER TABLE ONLY public.past_model_members ADD CONSTRAINT past_model_members_pkey PRIMARY KEY (identity_id, model_id, since);

CREATE TABLE public.past_resolutions (
    request_id uuid NOT NULL,
    since timestamp with time zone NOT NULL,
    until timestamp with time zone NOT NULL
);
ALTER TABLE ONLY public.past_resolutions ADD CONSTRAINT past_resolutions_pkey PRIMARY KEY (request_id, since);

CREATE TABLE public.past_sides (
    conflict_id uuid NOT NULL,
    duty_id uuid NOT NULL,
    account integer NOT NULL,
    kind text NOT NULL,
    number integer NOT NULL,
    path integer[] NOT NULL,
    access text NOT NULL,
    during int4range NOT NULL
);
CREATE INDEX past_sides_of_conflicts ON public.past_sides USING btree (conflict_id);
CREATE INDEX past_sides_of_duties ON public.past_sides USING btree (duty_id);
ALTER TABLE ONLY public.past_sides ADD CONSTRAINT past_sides_conflict_id_fkey FOREIGN KEY (conflict_id) REFERENCES public.conflicts(id);
ALTER TABLE ONLY public.past_sides ADD CONSTRAINT past_sides_duty_id_fkey FOREIGN KEY (duty_id) REFERENCES public.duties(id);

CREATE TABLE public.people_to_recheck (
    identity_id uuid
);

CREATE TABLE public.permission_holders (
    permission_number integer NOT NULL,
    holders integer[] NOT NULL,
    from_import integer,
    access public.access,
    until_import integer,
    CONSTRAINT permission_holders_check CHECK (((num_nonnulls(from_import, until_import) = 1) AND ((from_import IS NULL) = (access IS NULL))))
);
ALTER TABLE ONLY public.permission_holders ALTER COLUMN holders SET STORAGE EXTERNAL;
CREATE INDEX permission_holders_by_permission ON public.permission_holders USING btree (permission_number);

CREATE TABLE public.permission_values (
    permission_number integer NOT NULL,
    access public.access NOT NULL,
    digest text NOT NULL,
    value text NOT NULL,
    holders bigint NOT NULL
);
ALTER TABLE ONLY public.permission_values ADD CONSTRAINT permission_values_pkey PRIMARY KEY (permission_number, access, digest);
CREATE INDEX permission_values_by_use ON public.permission_values USING btree (permission_number, access, holders DESC, digest);

CREATE TABLE public.permission_versions (
    permission_number integer NOT NULL,
    from_import integer NOT NULL,
    until_import integer,
    description text NOT NULL,
    risk_rating text NOT NULL,
    CONSTRAINT risk_rating_is_known CHECK ((risk_rating = ANY (ARRAY['None'::text, 'Low'::text, 'Moderate'::text, 'High'::text, 'Critical'::text])))
);
ALTER TABLE ONLY public.permission_versions ADD CONSTRAINT permission_versions_pkey PRIMARY KEY (permission_number, from_import);
CREATE INDEX permission_versions_from_import_idx ON public.permission_versions USING btree (from_import);
CREATE INDEX permission_versions_until_import_idx ON public.permission_versions USING btree (until_import) WHERE (until_import IS NOT NULL);

CREATE TABLE public.permissions (
    number integer NOT NULL,
    id uuid DEFAULT gen_random_uuid() NOT NULL,
    application_id uuid NOT NULL,
    header text NOT NULL COLLATE pg_catalog."C",
    section text NOT NULL COLLATE pg_catalog."C",
    permission text NOT NULL COLLATE pg_catalog."C"
);
ALTER TABLE public.permissions ALTER COLUMN number ADD GENERATED BY DEFAULT AS IDENTITY ( SEQUENCE NAME public.permissions_number_seq START WITH 1 INCREMENT BY 1 NO MINVALUE NO MAXVALUE CACHE 1 );
ALTER TABLE ONLY public.permissions ADD CONSTRAINT permissions_id_key UNIQUE (id);
ALTER TABLE ONLY public.permissions ADD CONSTRAINT permissions_pkey PRIMARY KEY (number);
CREATE UNIQUE INDEX permissions_by_name ON public.permissions USING btree (application_id, header, section, permission);
CREATE INDEX permissions_in_any_case ON public.permissions USING btree (application_id, public.permission_in_any_case(header, section, permission));

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
    confirms_email boolean DEFAULT false NOT NULL,
    CONSTRAINT status_is_known CHECK ((status = ANY (ARRAY['Pending'::text, 'Open'::text, 'Resolved'::text, 'Completed'::text, 'Canceled'::text, 'Scheduled'::text, 'Snoozed'::text]))),
    CONSTRAINT type_is_known CHECK ((type = ANY (ARRAY['Onboard'::text, 'Offboard'::text, 'Role Transition'::text, 'Absence'::text])))
);
ALTER TABLE public.personnel_events ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY ( SEQUENCE NAME public.personnel_events_number_seq START WITH 1 INCREMENT BY 1 NO MINVALUE NO MAXVALUE CACHE 1 );
ALTER TABLE ONLY public.personnel_events ADD CONSTRAINT personnel_events_number_key UNIQUE (number);
ALTER TABLE ONLY public.personnel_events ADD CONSTRAINT personnel_events_pkey PRIMARY KEY (id);
CREATE INDEX personnel_events_assignee_id_list_key_idx ON public.personnel_events USING btree (assignee_id, list_key) WHERE (assignee_id IS NOT NULL);
CREATE INDEX personnel_events_identity_id_list_key_idx ON public.personnel_events USING btree (identity_id, list_key);
CREATE UNIQUE INDEX personnel_events_listed_ ON public.personnel_events USING btree (list_key);
CREATE INDEX personnel_events_listed_status ON public.personnel_events USING btree (status, list_key);
CREATE INDEX personnel_events_listed_type ON public.personnel_events USING btree (type, list_key);
CREATE INDEX personnel_events_listed_type_status ON public.personnel_events USING btree (type, status, list_key);
CREATE TRIGGER keep_absences AFTER INSERT OR UPDATE OF status, needed_on, needed_until ON public.personnel_events FOR EACH ROW WHEN ((new.type = 'Absence'::text)) EXECUTE FUNCTION public.keep_absences();
CREATE TRIGGER keep_list_on_delete AFTER DELETE ON public.personnel_events REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_personnel_events_on_delete();
CREATE TRIGGER keep_list_on_insert AFTER INSERT ON public.personnel_events REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_personnel_events_on_insert();
CREATE TRIGGER keep_list_on_truncate AFTER TRUNCATE ON public.personnel_events FOR EACH STATEMENT EXECUTE FUNCTION public.empty_list();
CREATE TRIGGER keep_list_on_update AFTER UPDATE ON public.personnel_events REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_personnel_events_on_update();
CREATE TRIGGER note_delete AFTER DELETE ON public.personnel_events REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_personnel_events();
CREATE TRIGGER note_insert AFTER INSERT ON public.personnel_events REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_personnel_events();
CREATE TRIGGER note_update AFTER UPDATE ON public.personnel_events REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_personnel_events();
CREATE TRIGGER notify_of_assigned_event AFTER UPDATE OF assignee_id ON public.personnel_events FOR EACH ROW WHEN (((new.assignee_id IS DISTINCT FROM old.assignee_id) AND (new.assignee_id IS NOT NULL))) EXECUTE FUNCTION public.notify_of_assigned_event();
CREATE TRIGGER notify_of_canceled_event AFTER UPDATE OF status ON public.personnel_events FOR EACH ROW WHEN (((new.status = 'Canceled'::text) AND (old.status <> 'Canceled'::text))) EXECUTE FUNCTION public.notify_of_personnel_events();
CREATE TRIGGER notify_of_new_event AFTER INSERT ON public.personnel_events FOR EACH ROW EXECUTE FUNCTION public.notify_of_personnel_events();
CREATE TRIGGER notify_of_return_date AFTER UPDATE OF needed_until ON public.personnel_events FOR EACH ROW WHEN (((new.type = 'Absence'::text) AND (new.needed_until IS DISTINCT FROM old.needed_until))) EXECUTE FUNCTION public.notify_of_personnel_events('Return Date');
ALTER TABLE ONLY public.personnel_events ADD CONSTRAINT personnel_events_identity_id_fkey FOREIGN KEY (identity_id) REFERENCES public.identities(id);

CREATE TABLE public.previewed_changes (
    preview_id uuid NOT NULL,
    "position" bigint NOT NULL,
    kind text NOT NULL,
    change text NOT NULL,
    name text NOT NULL,
    "row" json NOT NULL,
    other json
);
ALTER TABLE ONLY public.previewed_changes ADD CONSTRAINT previewed_changes_pkey PRIMARY KEY (preview_id, "position");
ALTER TABLE ONLY public.previewed_changes ADD CONSTRAINT previewed_changes_preview_id_fkey FOREIGN KEY (preview_id) REFERENCES public.previews(id) ON DELETE CASCADE;

CREATE TABLE public.previews (
    id uuid NOT NULL,
    counts jsonb NOT NULL
);
ALTER TABLE ONLY public.previews ADD CONSTRAINT previews_pkey PRIMARY KEY (id);

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
ALTER TABLE ONLY public.privileges ADD CONSTRAINT privileges_pkey PRIMARY KEY (request_id, "position");
CREATE TRIGGER note_delete AFTER DELETE ON public.privileges REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_privileges();
CREATE TRIGGER note_insert AFTER INSERT ON public.privileges REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_privileges();
CREATE TRIGGER note_update AFTER UPDATE ON public.privileges REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_privileges();
ALTER TABLE ONLY public.privileges ADD CONSTRAINT privileges_request_id_fkey FOREIGN KEY (request_id) REFERENCES public.access_requests(id);

CREATE TABLE public.read_progress (
    id uuid NOT NULL,
    read bigint NOT NULL,
    total bigint NOT NULL,
    changed_at timestamp with time zone NOT NULL
);
ALTER TABLE ONLY public.read_progress ADD CONSTRAINT read_progress_pkey PRIMARY KEY (id);

CREATE TABLE public.reasons_to_list (
    review_id uuid NOT NULL,
    after text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C"
);
ALTER TABLE ONLY public.reasons_to_list ADD CONSTRAINT reasons_to_list_pkey PRIMARY KEY (review_id);

CREATE TABLE public.related_items (
    request_id uuid NOT NULL,
    item_id uuid NOT NULL,
    kind text NOT NULL,
    number bigint NOT NULL,
    status text NOT NULL,
    stage text,
    CONSTRAINT kind_is_known CHECK ((kind = ANY (ARRAY['Review Item'::text, 'Personnel Event'::text])))
);
ALTER TABLE ONLY public.related_items ADD CONSTRAINT related_items_pkey PRIMARY KEY (request_id, item_id);
CREATE INDEX related_items_item_id_idx ON public.related_items USING btree (item_id);
CREATE TRIGGER note_delete AFTER DELETE ON public.related_items REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_related_items();
CREATE TRIGGER note_insert AFTER INSERT ON public.related_items REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_related_items();
CREATE TRIGGER note_update AFTER UPDATE ON public.related_items REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_related_items();
ALTER TABLE ONLY public.related_items ADD CONSTRAINT related_items_request_id_fkey FOREIGN KEY (request_id) REFERENCES public.access_requests(id);

CREATE TABLE public.report_firings (
    report_id uuid NOT NULL,
    fired_at timestamp with time zone NOT NULL,
    run_id uuid,
    attempts integer DEFAULT 0 NOT NULL
);
ALTER TABLE ONLY public.report_firings ADD CONSTRAINT report_firings_pkey PRIMARY KEY (report_id);
CREATE INDEX report_firings_run_id_idx ON public.report_firings USING btree (run_id) WHERE (run_id IS NOT NULL);
ALTER TABLE ONLY public.report_firings ADD CONSTRAINT report_firings_report_id_fkey FOREIGN KEY (report_id) REFERENCES public.reports(id);
ALTER TABLE ONLY public.report_firings ADD CONSTRAINT report_firings_run_id_fkey FOREIGN KEY (run_id) REFERENCES public.exports(id);

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
    recipient_ids uuid[] DEFAULT '{}'::uuid[] NOT NULL,
    CONSTRAINT format_is_known CHECK ((format = ANY (ARRAY['csv'::text, 'xlsx'::text, 'jsonl'::text, 'parquet'::text]))),
    CONSTRAINT period_is_known CHECK ((period = ANY (ARRAY['Now'::text, 'Yesterday'::text, 'Last Week'::text, 'Last Month'::text, 'Last Quarter'::text, 'Last Year'::text]))),
    CONSTRAINT schedule_is_whole CHECK (((cron IS NULL) = (location IS NULL)))
);
ALTER TABLE ONLY public.reports ADD CONSTRAINT reports_pkey PRIMARY KEY (id);
CREATE UNIQUE INDEX reports_by_name ON public.reports USING btree (lower(name)) WHERE (deleted_on IS NULL);
CREATE INDEX reports_owner_id_idx ON public.reports USING btree (owner_id) WHERE (owner_id IS NOT NULL);
CREATE TRIGGER note_delete AFTER DELETE ON public.reports REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_reports();
CREATE TRIGGER note_insert AFTER INSERT ON public.reports REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_reports();
CREATE TRIGGER note_update AFTER UPDATE ON public.reports REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_reports();
ALTER TABLE ONLY public.reports ADD CONSTRAINT reports_owner_id_fkey FOREIGN KEY (owner_id) REFERENCES public.identities(id);

CREATE TABLE public.request_conflict_people (
    request_id uuid NOT NULL,
    rule_id uuid NOT NULL,
    identity_id uuid NOT NULL,
    duty_ids uuid[] NOT NULL,
    response text NOT NULL,
    owner_id uuid,
    requirement integer
);
ALTER TABLE ONLY public.request_conflict_people ADD CONSTRAINT request_conflict_people_pkey PRIMARY KEY (request_id, rule_id, identity_id);
ALTER TABLE ONLY public.request_conflict_people ADD CONSTRAINT request_conflict_people_request_id_fkey FOREIGN KEY (request_id) REFERENCES public.access_requests(id);

CREATE TABLE public.request_conflicts (
    request_id uuid NOT NULL,
    rule_id uuid NOT NULL,
    rule text NOT NULL,
    risk text NOT NULL,
    response text NOT NULL,
    duties text[] NOT NULL
);
ALTER TABLE ONLY public.request_conflicts ADD CONSTRAINT request_conflicts_pkey PRIMARY KEY (request_id, rule_id);
CREATE TRIGGER note_delete AFTER DELETE ON public.request_conflicts REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_request_conflicts();
CREATE TRIGGER note_insert AFTER INSERT ON public.request_conflicts REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_request_conflicts();
CREATE TRIGGER note_update AFTER UPDATE ON public.request_conflicts REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_request_conflicts();
ALTER TABLE ONLY public.request_conflicts ADD CONSTRAINT request_conflicts_request_id_fkey FOREIGN KEY (request_id) REFERENCES public.access_requests(id);

CREATE TABLE public.request_times (
    method text NOT NULL,
    route text NOT NULL,
    status integer NOT NULL,
    within double precision NOT NULL,
    requests bigint NOT NULL,
    seconds double precision NOT NULL
)
WITH (fillfactor='50');
ALTER TABLE ONLY public.request_times ADD CONSTRAINT request_times_pkey PRIMARY KEY (method, route, status, within);

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
    stand_in_id uuid,
    stand_in_name text,
    CONSTRAINT response_is_known CHECK ((response = ANY (ARRAY['Pending'::text, 'Approved'::text, 'Rejected'::text]))),
    CONSTRAINT stand_in_has_a_name CHECK (((stand_in_id IS NULL) = (stand_in_name IS NULL))),
    CONSTRAINT type_is_known CHECK ((type = ANY (ARRAY['Approve'::text, 'Resolve'::text, 'Verify'::text])))
);
ALTER TABLE ONLY public.responses ADD CONSTRAINT responses_pkey PRIMARY KEY (request_id, type, rule, "position");
CREATE INDEX responses_to_give ON public.responses USING btree (reviewer_id, type) WHERE (response = 'Pending'::text);
CREATE TRIGGER note_delete AFTER DELETE ON public.responses REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_responses();
CREATE TRIGGER note_insert AFTER INSERT ON public.responses REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_responses();
CREATE TRIGGER note_met_rules AFTER UPDATE ON public.responses REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_met_rules();
CREATE TRIGGER note_update AFTER UPDATE ON public.responses REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_responses();
ALTER TABLE ONLY public.responses ADD CONSTRAINT responses_request_id_fkey FOREIGN KEY (request_id) REFERENCES public.access_requests(id);

CREATE TABLE public.review_acceptances (
    number bigint NOT NULL,
    item_id uuid NOT NULL,
    reason text NOT NULL,
    until timestamp with time zone NOT NULL,
    accepted_by uuid NOT NULL,
    accepted_by_name text NOT NULL,
    accepted_on timestamp with time zone NOT NULL
);
ALTER TABLE public.review_acceptances ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY ( SEQUENCE NAME public.review_acceptances_number_seq START WITH 1 INCREMENT BY 1 NO MINVALUE NO MAXVALUE CACHE 1 );
ALTER TABLE ONLY public.review_acceptances ADD CONSTRAINT review_acceptances_pkey PRIMARY KEY (number);
CREATE INDEX review_acceptances_item_id_idx ON public.review_acceptances USING btree (item_id);
CREATE TRIGGER note_delete AFTER DELETE ON public.review_acceptances REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_review_acceptances();
CREATE TRIGGER note_insert AFTER INSERT ON public.review_acceptances REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_review_acceptances();
CREATE TRIGGER note_update AFTER UPDATE ON public.review_acceptances REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_review_acceptances();

CREATE TABLE public.review_bulks (
    id uuid NOT NULL,
    number bigint NOT NULL,
    review_id uuid NOT NULL,
    reviewer_id uuid NOT NULL,
    selection jsonb NOT NULL,
    decision text NOT NULL,
    comment text NOT NULL,
    item_count integer NOT NULL,
    digest text NOT NULL,
    decided_by uuid NOT NULL,
    decided_by_name text NOT NULL,
    decided_on timestamp with time zone NOT NULL,
    until timestamp with time zone
);
ALTER TABLE public.review_bulks ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY ( SEQUENCE NAME public.review_bulks_number_seq START WITH 1 INCREMENT BY 1 NO MINVALUE NO MAXVALUE CACHE 1 );
ALTER TABLE ONLY public.review_bulks ADD CONSTRAINT review_bulks_pkey PRIMARY KEY (id);
CREATE INDEX review_bulks_review_id_number_idx ON public.review_bulks USING btree (review_id, number);
CREATE TRIGGER note_delete AFTER DELETE ON public.review_bulks REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_review_bulks();
CREATE TRIGGER note_insert AFTER INSERT ON public.review_bulks REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_review_bulks();
CREATE TRIGGER note_update AFTER UPDATE ON public.review_bulks REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_review_bulks();
ALTER TABLE ONLY public.review_bulks ADD CONSTRAINT review_bulks_review_id_fkey FOREIGN KEY (review_id) REFERENCES public.reviews(id);

CREATE TABLE public.review_changes (
    number bigint NOT NULL,
    review_id uuid NOT NULL,
    change text NOT NULL,
    reason text NOT NULL,
    import_number integer,
    items bigint[] NOT NULL,
    item_count integer NOT NULL,
    digest text NOT NULL,
    changed_on timestamp with time zone NOT NULL
);
ALTER TABLE public.review_changes ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY ( SEQUENCE NAME public.review_changes_number_seq START WITH 1 INCREMENT BY 1 NO MINVALUE NO MAXVALUE CACHE 1 );
ALTER TABLE ONLY public.review_changes ADD CONSTRAINT review_changes_pkey PRIMARY KEY (number);
CREATE INDEX review_changes_review_id_number_idx ON public.review_changes USING btree (review_id, number);
CREATE TRIGGER note_delete AFTER DELETE ON public.review_changes REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_review_changes();
CREATE TRIGGER note_insert AFTER INSERT ON public.review_changes REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_review_changes();
CREATE TRIGGER note_update AFTER UPDATE ON public.review_changes REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_review_changes();
ALTER TABLE ONLY public.review_changes ADD CONSTRAINT review_changes_review_id_fkey FOREIGN KEY (review_id) REFERENCES public.reviews(id);

CREATE TABLE public.review_decisions (
    number bigint NOT NULL,
    review_id uuid NOT NULL,
    item_id uuid NOT NULL,
    stage integer NOT NULL,
    reviewer_id uuid NOT NULL,
    decision text,
    until timestamp with time zone,
    new_access text,
    comment text NOT NULL,
    decided_by uuid NOT NULL,
    decided_by_name text NOT NULL,
    decided_on timestamp with time zone NOT NULL,
    bulk_id uuid
);
ALTER TABLE public.review_decisions ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY ( SEQUENCE NAME public.review_decisions_number_seq START WITH 1 INCREMENT BY 1 NO MINVALUE NO MAXVALUE CACHE 1 );
ALTER TABLE ONLY public.review_decisions ADD CONSTRAINT review_decisions_pkey PRIMARY KEY (number);
CREATE INDEX review_decisions_item_id_number_idx ON public.review_decisions USING btree (item_id, number);
CREATE INDEX review_decisions_review_id_number_idx ON public.review_decisions USING btree (review_id, number);
CREATE TRIGGER note_delete AFTER DELETE ON public.review_decisions REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_review_decisions();
CREATE TRIGGER note_insert AFTER INSERT ON public.review_decisions REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_review_decisions();
CREATE TRIGGER note_update AFTER UPDATE ON public.review_decisions REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_review_decisions();
ALTER TABLE ONLY public.review_decisions ADD CONSTRAINT review_decisions_review_id_fkey FOREIGN KEY (review_id) REFERENCES public.reviews(id);

CREATE TABLE public.review_events (
    number bigint NOT NULL,
    name text NOT NULL,
    review_id uuid NOT NULL,
    item_id uuid,
    application_id uuid,
    created_at timestamp with time zone NOT NULL,
    subject json NOT NULL
);
ALTER TABLE public.review_events ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY ( SEQUENCE NAME public.review_events_number_seq START WITH 1 INCREMENT BY 1 NO MINVALUE NO MAXVALUE CACHE 1 );
ALTER TABLE ONLY public.review_events ADD CONSTRAINT review_events_pkey PRIMARY KEY (number);
CREATE INDEX review_events_review_id_number_idx ON public.review_events USING btree (review_id, number);
CREATE TRIGGER fan_out_on_review_event AFTER INSERT ON public.review_events REFERENCING NEW TABLE AS new_events FOR EACH STATEMENT EXECUTE FUNCTION public.fan_out_review_events();
CREATE TRIGGER notify_of_review_events AFTER INSERT ON public.review_events REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.notify_of_review_events();
ALTER TABLE ONLY public.review_events ADD CONSTRAINT review_events_review_id_fkey FOREIGN KEY (review_id) REFERENCES public.reviews(id);

CREATE TABLE public.review_item_reasons (
    review_id uuid NOT NULL,
    reason text NOT NULL COLLATE pg_catalog."C",
    status text NOT NULL COLLATE pg_catalog."C",
    reviewer_id uuid NOT NULL,
    application_id uuid,
    list_key text NOT NULL COLLATE pg_catalog."C"
);
ALTER TABLE ONLY public.review_item_reasons ADD CONSTRAINT review_item_reasons_pkey PRIMARY KEY (review_id, reason, list_key);
CREATE INDEX review_item_reasons_listed_application_id ON public.review_item_reasons USING btree (review_id, reason, application_id, list_key);
CREATE INDEX review_item_reasons_listed_reviewer_id ON public.review_item_reasons USING btree (review_id, reason, reviewer_id, list_key);
CREATE INDEX review_item_reasons_listed_reviewer_id_application_id ON public.review_item_reasons USING btree (review_id, reason, reviewer_id, application_id, list_key);
CREATE INDEX review_item_reasons_listed_status ON public.review_item_reasons USING btree (review_id, reason, status, list_key);
CREATE INDEX review_item_reasons_listed_status_application_id ON public.review_item_reasons USING btree (review_id, reason, status, application_id, list_key);
CREATE INDEX review_item_reasons_listed_status_reviewer_id ON public.review_item_reasons USING btree (review_id, reason, status, reviewer_id, list_key);
CREATE INDEX review_item_reasons_listed_status_reviewer_id_application_id ON public.review_item_reasons USING btree (review_id, reason, status, reviewer_id, application_id, list_key);
CREATE TRIGGER keep_list_on_delete AFTER DELETE ON public.review_item_reasons REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_review_item_reasons_on_delete();
CREATE TRIGGER keep_list_on_insert AFTER INSERT ON public.review_item_reasons REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_review_item_reasons_on_insert();
CREATE TRIGGER keep_list_on_truncate AFTER TRUNCATE ON public.review_item_reasons FOR EACH STATEMENT EXECUTE FUNCTION public.empty_list();
CREATE TRIGGER keep_list_on_update AFTER UPDATE ON public.review_item_reasons REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_review_item_reasons_on_update();

CREATE TABLE public.review_items (
    id uuid DEFAULT gen_random_uuid() NOT NULL,
    number bigint NOT NULL,
    review_id uuid NOT NULL,
    status text DEFAULT 'Pending'::text NOT NULL,
    subject text NOT NULL,
    application_id uuid,
    account_number integer,
    group_number integer,
    entitlement_id uuid,
    model_id uuid,
    identity_id uuid,
    access text DEFAULT 'None'::text NOT NULL,
    since_import integer,
    request_ids uuid[] DEFAULT '{}'::uuid[] NOT NULL,
    model_ids uuid[] DEFAULT '{}'::uuid[] NOT NULL,
    under_id uuid,
    facts text[] DEFAULT '{}'::text[] NOT NULL,
    recommendation text,
    peers integer,
    peers_holding integer,
    previous_id uuid,
    is_carried boolean DEFAULT false NOT NULL,
    is_sample boolean DEFAULT false NOT NULL,
    stage integer DEFAULT 1 NOT NULL,
    reviewer_id uuid NOT NULL,
    moved text DEFAULT ''::text NOT NULL,
    read_on timestamp with time zone,
    decision text,
    until timestamp with time zone,
    new_access text,
    comment text DEFAULT ''::text NOT NULL,
    decided_on timestamp with time zone,
    decided_by uuid,
    bulk_id uuid,
    submission_id uuid,
    request_id uuid,
    remediated_on timestamp with time zone,
    remediated_import integer,
    reopened_on timestamp with time zone,
    reopened_import integer,
    accepted_until timestamp with time zone,
    list_key text NOT NULL COLLATE pg_catalog."C",
    withdrawn_import integer,
    CONSTRAINT decision_is_known CHECK ((decision = ANY (ARRAY['Keep'::text, 'Keep Until'::text, 'Change'::text, 'Revoke'::text, 'Not Mine'::text, 'Unsure'::text]))),
    CONSTRAINT status_is_known CHECK ((status = ANY (ARRAY['Pending'::text, 'Approved'::text, 'Flagged'::text, 'Remediated'::text, 'Withdrawn'::text]))),
    CONSTRAINT subject_is_known CHECK ((subject = ANY (ARRAY['Access'::text, 'Account'::text, 'Group'::text, 'Model'::text])))
);
ALTER TABLE public.review_items ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY ( SEQUENCE NAME public.review_items_number_seq START WITH 1 INCREMENT BY 1 NO MINVALUE NO MAXVALUE CACHE 1 );
ALTER TABLE ONLY public.review_items ADD CONSTRAINT review_items_number_key UNIQUE (number);
ALTER TABLE ONLY public.review_items ADD CONSTRAINT review_items_pkey PRIMARY KEY (id);
CREATE INDEX review_items_account_number_entitlement_id_idx ON public.review_items USING btree (account_number, entitlement_id);
CREATE INDEX review_items_flagged ON public.review_items USING btree (review_id) WHERE (status = 'Flagged'::text);
CREATE INDEX review_items_identity_id_list_key_idx ON public.review_items USING btree (identity_id, list_key);
CREATE UNIQUE INDEX review_items_listed_review_id ON public.review_items USING btree (review_id, list_key);
CREATE INDEX review_items_listed_review_id_application_id ON public.review_items USING btree (review_id, application_id, list_key);
CREATE INDEX review_items_listed_review_id_reviewer_id ON public.review_items USING btree (review_id, reviewer_id, list_key);
CREATE INDEX review_items_listed_review_id_reviewer_id_application_id ON public.review_items USING btree (review_id, reviewer_id, application_id, list_key);
CREATE INDEX review_items_listed_review_id_status ON public.review_items USING btree (review_id, status, list_key);
CREATE INDEX review_items_listed_review_id_status_application_id ON public.review_items USING btree (review_id, status, application_id, list_key);
CREATE INDEX review_items_listed_review_id_status_reviewer_id ON public.review_items USING btree (review_id, status, reviewer_id, list_key);
CREATE INDEX review_items_listed_review_id_status_reviewer_id_application_id ON public.review_items USING btree (review_id, status, reviewer_id, application_id, list_key);
CREATE INDEX review_items_moved ON public.review_items USING btree (review_id) WHERE (moved <> ''::text);
CREATE INDEX review_items_request_id_idx ON public.review_items USING btree (request_id) WHERE (request_id IS NOT NULL);
CREATE INDEX review_items_under_id_idx ON public.review_items USING btree (under_id) WHERE (under_id IS NOT NULL);
CREATE TRIGGER keep_item_reasons AFTER UPDATE ON public.review_items REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_item_reasons();
CREATE TRIGGER keep_list_on_delete AFTER DELETE ON public.review_items REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_review_items_on_delete();
CREATE TRIGGER keep_list_on_insert AFTER INSERT ON public.review_items REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_review_items_on_insert();
CREATE TRIGGER keep_list_on_truncate AFTER TRUNCATE ON public.review_items FOR EACH STATEMENT EXECUTE FUNCTION public.empty_list();
CREATE TRIGGER keep_list_on_update AFTER UPDATE ON public.review_items REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_review_items_on_update();
CREATE TRIGGER refuse_item_move BEFORE UPDATE OF status ON public.review_items FOR EACH ROW WHEN (((new.status <> old.status) AND (((old.status || ' > '::text) || new.status) <> ALL (public.review_item_moves())))) EXECUTE FUNCTION public.refuse_item_move();
CREATE TRIGGER show_review_items AFTER UPDATE ON public.review_items REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.show_review_items();

CREATE TABLE public.review_moves (
    number bigint NOT NULL,
    review_id uuid NOT NULL,
    item_id uuid NOT NULL,
    from_id uuid NOT NULL,
    to_id uuid NOT NULL,
    stage integer NOT NULL,
    reason text NOT NULL,
    moved_by_name text NOT NULL,
    moved_on timestamp with time zone NOT NULL
);
ALTER TABLE public.review_moves ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY ( SEQUENCE NAME public.review_moves_number_seq START WITH 1 INCREMENT BY 1 NO MINVALUE NO MAXVALUE CACHE 1 );
ALTER TABLE ONLY public.review_moves ADD CONSTRAINT review_moves_pkey PRIMARY KEY (number);
CREATE INDEX review_moves_item_id_number_idx ON public.review_moves USING btree (item_id, number);
CREATE INDEX review_moves_review_id_number_idx ON public.review_moves USING btree (review_id, number);
CREATE TRIGGER note_delete AFTER DELETE ON public.review_moves REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_review_moves();
CREATE TRIGGER note_insert AFTER INSERT ON public.review_moves REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_review_moves();
CREATE TRIGGER note_update AFTER UPDATE ON public.review_moves REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_review_moves();
CREATE TRIGGER notify_of_moved_items AFTER INSERT ON public.review_moves REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.notify_of_moved_items();
ALTER TABLE ONLY public.review_moves ADD CONSTRAINT review_moves_review_id_fkey FOREIGN KEY (review_id) REFERENCES public.reviews(id);

CREATE TABLE public.review_news (
    number bigint NOT NULL,
    request_id uuid NOT NULL,
    name text NOT NULL
);
ALTER TABLE public.review_news ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY ( SEQUENCE NAME public.review_news_number_seq START WITH 1 INCREMENT BY 1 NO MINVALUE NO MAXVALUE CACHE 1 );
ALTER TABLE ONLY public.review_news ADD CONSTRAINT review_news_pkey PRIMARY KEY (number);

CREATE TABLE public.review_populations (
    review_id uuid NOT NULL,
    "position" integer NOT NULL,
    application_id uuid,
    import_number integer,
    file_rows integer,
    accounts integer NOT NULL,
    held integer NOT NULL,
    items integer NOT NULL,
    excluded jsonb DEFAULT '{}'::jsonb NOT NULL
);
ALTER TABLE ONLY public.review_populations ADD CONSTRAINT review_populations_pkey PRIMARY KEY (review_id, "position");
CREATE INDEX review_populations_application_id_idx ON public.review_populations USING btree (application_id);
CREATE TRIGGER note_delete AFTER DELETE ON public.review_populations REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_review_populations();
CREATE TRIGGER note_insert AFTER INSERT ON public.review_populations REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_review_populations();
CREATE TRIGGER note_update AFTER UPDATE ON public.review_populations REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_review_populations();
ALTER TABLE ONLY public.review_populations ADD CONSTRAINT review_populations_application_id_fkey FOREIGN KEY (application_id) REFERENCES public.applications(id);
ALTER TABLE ONLY public.review_populations ADD CONSTRAINT review_populations_review_id_fkey FOREIGN KEY (review_id) REFERENCES public.reviews(id);

CREATE TABLE public.review_scopes (
    review_id uuid NOT NULL,
    kind text NOT NULL,
    id uuid NOT NULL,
    reason text NOT NULL,
    CONSTRAINT kind_is_known CHECK ((kind = ANY (ARRAY['Account'::text, 'Entitlement'::text, 'Identity'::text, 'Model'::text, 'Renamed'::text, 'Unknown'::text])))
);
ALTER TABLE ONLY public.review_scopes ADD CONSTRAINT review_scopes_pkey PRIMARY KEY (review_id, kind, id);
ALTER TABLE ONLY public.review_scopes ADD CONSTRAINT review_scopes_review_id_fkey FOREIGN KEY (review_id) REFERENCES public.reviews(id);

CREATE TABLE public.review_steps (
    number bigint NOT NULL,
    review_id uuid NOT NULL,
    step text NOT NULL,
    detail text NOT NULL,
    own_items bigint[] NOT NULL,
    done_by uuid NOT NULL,
    done_by_name text NOT NULL,
    done_on timestamp with time zone NOT NULL,
    CONSTRAINT step_is_known CHECK ((step = ANY (ARRAY['Extended'::text, 'Hold Confirmed'::text, 'Closed'::text, 'Canceled'::text])))
);
ALTER TABLE public.review_steps ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY ( SEQUENCE NAME public.review_steps_number_seq START WITH 1 INCREMENT BY 1 NO MINVALUE NO MAXVALUE CACHE 1 );
ALTER TABLE ONLY public.review_steps ADD CONSTRAINT review_steps_pkey PRIMARY KEY (number);
CREATE INDEX review_steps_review_id_number_idx ON public.review_steps USING btree (review_id, number);
CREATE TRIGGER note_delete AFTER DELETE ON public.review_steps REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_review_steps();
CREATE TRIGGER note_insert AFTER INSERT ON public.review_steps REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_review_steps();
CREATE TRIGGER note_update AFTER UPDATE ON public.review_steps REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_review_steps();
ALTER TABLE ONLY public.review_steps ADD CONSTRAINT review_steps_review_id_fkey FOREIGN KEY (review_id) REFERENCES public.reviews(id);

CREATE TABLE public.review_submissions (
    id uuid NOT NULL,
    number bigint NOT NULL,
    review_id uuid NOT NULL,
    reviewer_id uuid NOT NULL,
    reviewer_name text NOT NULL,
    statement text NOT NULL,
    counts jsonb NOT NULL,
    digest text NOT NULL,
    submitted_by uuid NOT NULL,
    submitted_by_name text NOT NULL,
    submitted_on timestamp with time zone NOT NULL
);
ALTER TABLE public.review_submissions ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY ( SEQUENCE NAME public.review_submissions_number_seq START WITH 1 INCREMENT BY 1 NO MINVALUE NO MAXVALUE CACHE 1 );
ALTER TABLE ONLY public.review_submissions ADD CONSTRAINT review_submissions_pkey PRIMARY KEY (id);
CREATE INDEX review_submissions_review_id_number_idx ON public.review_submissions USING btree (review_id, number);
CREATE TRIGGER note_delete AFTER DELETE ON public.review_submissions REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_review_submissions();
CREATE TRIGGER note_insert AFTER INSERT ON public.review_submissions REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_review_submissions();
CREATE TRIGGER note_submitted_review AFTER INSERT ON public.review_submissions FOR EACH ROW EXECUTE FUNCTION public.note_submitted_review();
CREATE TRIGGER note_update AFTER UPDATE ON public.review_submissions REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_review_submissions();
ALTER TABLE ONLY public.review_submissions ADD CONSTRAINT review_submissions_review_id_fkey FOREIGN KEY (review_id) REFERENCES public.reviews(id);

CREATE TABLE public.review_templates (
    id uuid NOT NULL,
    name text NOT NULL,
    every_months integer NOT NULL,
    days_to_review integer NOT NULL,
    next_on timestamp with time zone NOT NULL,
    opens boolean NOT NULL,
    body jsonb NOT NULL,
    last_review_id uuid,
    fault text DEFAULT ''::text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    first_on timestamp with time zone NOT NULL,
    CONSTRAINT every_is_positive CHECK ((every_months > 0))
);
ALTER TABLE ONLY public.review_templates ADD CONSTRAINT review_templates_pkey PRIMARY KEY (id);
CREATE UNIQUE INDEX review_templates_by_name ON public.review_templates USING btree (lower(name));
CREATE TRIGGER note_delete AFTER DELETE ON public.review_templates REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_review_templates();
CREATE TRIGGER note_insert AFTER INSERT ON public.review_templates REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_review_templates();
CREATE TRIGGER note_update AFTER UPDATE ON public.review_templates REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_review_templates();
CREATE TRIGGER notify_of_templates AFTER UPDATE OF fault, last_review_id ON public.review_templates FOR EACH ROW WHEN ((((new.fault <> old.fault) AND (new.fault <> ''::text)) OR ((new.last_review_id IS DISTINCT FROM old.last_review_id) AND (NOT new.opens)))) EXECUTE FUNCTION public.notify_of_templates();

CREATE TABLE public.reviews (
    id uuid NOT NULL,
    number bigint NOT NULL,
    name text NOT NULL,
    description text DEFAULT ''::text NOT NULL,
    type text NOT NULL,
    status text DEFAULT 'Draft'::text NOT NULL,
    scope jsonb DEFAULT '{}'::jsonb NOT NULL,
    stages jsonb NOT NULL,
    fallback jsonb,
    due_on timestamp with time zone NOT NULL,
    period_from timestamp with time zone,
    period_until timestamp with time zone,
    explained text NOT NULL,
    on_silence text NOT NULL,
    statement text NOT NULL,
    owner_id uuid,
    created_by text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    opened_on timestamp with time zone,
    closed_on timestamp with time zone,
    completed_on timestamp with time zone,
    canceled_on timestamp with time zone,
    reminded_on timestamp with time zone,
    held text,
    digest text,
    item_count integer DEFAULT 0 NOT NULL,
    template_id uuid,
    opened_by_import integer,
    list_key text GENERATED ALWAYS AS (public.time_key(created_at, number)) STORED NOT NULL COLLATE pg_catalog."C",
    decision_count integer,
    move_count integer,
    closed_due_on timestamp with time zone,
    first_due_on timestamp with time zone,
    CONSTRAINT explained_is_known CHECK ((explained = ANY (ARRAY['each'::text, 'by model'::text, 'carry over'::text]))),
    CONSTRAINT on_silence_is_known CHECK ((on_silence = ANY (ARRAY['escalate'::text, 'flag'::text, 'approve'::text]))),
    CONSTRAINT opened_reviews_are_pinned CHECK (((opened_on IS NULL) = (digest IS NULL))),
    CONSTRAINT status_is_known CHECK ((status = ANY (ARRAY['Draft'::text, 'Open'::text, 'Closed'::text, 'Completed'::text, 'Canceled'::text]))),
    CONSTRAINT type_is_known CHECK ((type = ANY (ARRAY['Application'::text, 'Supervisor'::text, 'Entitlement'::text, 'Group Contents'::text, 'Privileged'::text, 'Unexplained'::text, 'Changed'::text, 'Unmatched'::text, 'Leavers'::text, 'Model'::text])))
);
ALTER TABLE public.reviews ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY ( SEQUENCE NAME public.reviews_number_seq START WITH 1 INCREMENT BY 1 NO MINVALUE NO MAXVALUE CACHE 1 );
ALTER TABLE ONLY public.reviews ADD CONSTRAINT reviews_number_key UNIQUE (number);
ALTER TABLE ONLY public.reviews ADD CONSTRAINT reviews_pkey PRIMARY KEY (id);
CREATE UNIQUE INDEX reviews_listed_ ON public.reviews USING btree (list_key);
CREATE INDEX reviews_listed_status ON public.reviews USING btree (status, list_key);
CREATE INDEX reviews_listed_status_type ON public.reviews USING btree (status, type, list_key);
CREATE INDEX reviews_listed_type ON public.reviews USING btree (type, list_key);
CREATE INDEX reviews_open ON public.reviews USING btree (due_on) WHERE (status = 'Open'::text);
CREATE TRIGGER keep_list_on_delete AFTER DELETE ON public.reviews REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_reviews_on_delete();
CREATE TRIGGER keep_list_on_insert AFTER INSERT ON public.reviews REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_reviews_on_insert();
CREATE TRIGGER keep_list_on_truncate AFTER TRUNCATE ON public.reviews FOR EACH STATEMENT EXECUTE FUNCTION public.empty_list();
CREATE TRIGGER keep_list_on_update AFTER UPDATE ON public.reviews REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_reviews_on_update();
CREATE TRIGGER note_delete AFTER DELETE ON public.reviews REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_reviews();
CREATE TRIGGER note_insert AFTER INSERT ON public.reviews REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_reviews();
CREATE TRIGGER note_update AFTER UPDATE ON public.reviews REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_reviews();

CREATE TABLE public.schedule_firings (
    application_id uuid NOT NULL,
    fired_at timestamp with time zone NOT NULL,
    skipped bigint DEFAULT 0 NOT NULL
);
ALTER TABLE ONLY public.schedule_firings ADD CONSTRAINT schedule_firings_pkey PRIMARY KEY (application_id);
ALTER TABLE ONLY public.schedule_firings ADD CONSTRAINT schedule_firings_application_id_fkey FOREIGN KEY (application_id) REFERENCES public.applications(id);

CREATE TABLE public.schedules (
    application_id uuid NOT NULL,
    cron text NOT NULL,
    locations jsonb NOT NULL
);
ALTER TABLE ONLY public.schedules ADD CONSTRAINT schedules_pkey PRIMARY KEY (application_id);
CREATE TRIGGER note_delete AFTER DELETE ON public.schedules REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_schedules();
CREATE TRIGGER note_insert AFTER INSERT ON public.schedules REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_schedules();
CREATE TRIGGER note_update AFTER UPDATE ON public.schedules REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_schedules();
ALTER TABLE ONLY public.schedules ADD CONSTRAINT schedules_application_id_fkey FOREIGN KEY (application_id) REFERENCES public.applications(id);

CREATE TABLE public.schema_files (
    name text NOT NULL,
    sha256 text NOT NULL,
    version integer[] NOT NULL,
    objects text[] NOT NULL,
    applied_at timestamp with time zone DEFAULT now() NOT NULL
);
ALTER TABLE ONLY public.schema_files ADD CONSTRAINT schema_files_pkey PRIMARY KEY (name);

CREATE TABLE public.scim_members (
    group_id uuid NOT NULL,
    member_id uuid NOT NULL,
    display text NOT NULL
);
ALTER TABLE ONLY public.scim_members ADD CONSTRAINT scim_members_pkey PRIMARY KEY (group_id, member_id);
CREATE INDEX scim_members_by_member ON public.scim_members USING btree (member_id);
ALTER TABLE ONLY public.scim_members ADD CONSTRAINT scim_members_group_id_fkey FOREIGN KEY (group_id) REFERENCES public.scim_resources(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.scim_members ADD CONSTRAINT scim_members_member_id_fkey FOREIGN KEY (member_id) REFERENCES public.scim_resources(id) ON DELETE CASCADE;

CREATE TABLE public.scim_pushes (
    application_id uuid NOT NULL,
    began_at timestamp with time zone NOT NULL,
    changed_at timestamp with time zone,
    waiting_since timestamp with time zone
);
ALTER TABLE ONLY public.scim_pushes ADD CONSTRAINT scim_pushes_pkey PRIMARY KEY (application_id);
ALTER TABLE ONLY public.scim_pushes ADD CONSTRAINT scim_pushes_application_id_fkey FOREIGN KEY (application_id) REFERENCES public.applications(id);

CREATE TABLE public.scim_resources (
    id uuid NOT NULL,
    number bigint NOT NULL,
    application_id uuid NOT NULL,
    kind text NOT NULL,
    name_key text NOT NULL,
    resource jsonb NOT NULL,
    external_id text GENERATED ALWAYS AS ((resource ->> 'externalId'::text)) STORED,
    version bigint DEFAULT 1 NOT NULL,
    created_at timestamp with time zone NOT NULL,
    changed_at timestamp with time zone NOT NULL,
    is_active boolean NOT NULL,
    CONSTRAINT scim_resources_kind_check CHECK ((kind = ANY (ARRAY['User'::text, 'Group'::text])))
);
ALTER TABLE public.scim_resources ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY ( SEQUENCE NAME public.scim_resources_number_seq START WITH 1 INCREMENT BY 1 NO MINVALUE NO MAXVALUE CACHE 1 );
ALTER TABLE ONLY public.scim_resources ADD CONSTRAINT scim_resources_application_id_kind_name_key_key UNIQUE (application_id, kind, name_key);
ALTER TABLE ONLY public.scim_resources ADD CONSTRAINT scim_resources_pkey PRIMARY KEY (id);
CREATE INDEX scim_resources_by_external_id ON public.scim_resources USING btree (application_id, external_id) WHERE (external_id IS NOT NULL);
CREATE INDEX scim_resources_by_number ON public.scim_resources USING btree (application_id, kind, number);
ALTER TABLE ONLY public.scim_resources ADD CONSTRAINT scim_resources_application_id_fkey FOREIGN KEY (application_id) REFERENCES public.applications(id);

CREATE TABLE public.scim_tokens (
    id uuid NOT NULL,
    application_id uuid NOT NULL,
    public_id text NOT NULL,
    secret_sha256 bytea NOT NULL,
    name text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone,
    last_used_at timestamp with time zone,
    revoked_at timestamp with time zone,
    owner_id uuid
);
ALTER TABLE ONLY public.scim_tokens ADD CONSTRAINT scim_tokens_application_id_name_key UNIQUE (application_id, name);
ALTER TABLE ONLY public.scim_tokens ADD CONSTRAINT scim_tokens_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.scim_tokens ADD CONSTRAINT scim_tokens_public_id_key UNIQUE (public_id);
CREATE TRIGGER note_delete AFTER DELETE ON public.scim_tokens REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_scim_tokens();
CREATE TRIGGER note_insert AFTER INSERT ON public.scim_tokens REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_scim_tokens();
CREATE TRIGGER note_update AFTER UPDATE ON public.scim_tokens REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_scim_tokens();
ALTER TABLE ONLY public.scim_tokens ADD CONSTRAINT scim_tokens_application_id_fkey FOREIGN KEY (application_id) REFERENCES public.applications(id);

CREATE TABLE public.settings (
    name text NOT NULL,
    value jsonb NOT NULL
);
ALTER TABLE ONLY public.settings ADD CONSTRAINT settings_pkey PRIMARY KEY (name);
CREATE TRIGGER note_delete AFTER DELETE ON public.settings REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_settings();
CREATE TRIGGER note_insert AFTER INSERT ON public.settings REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_settings();
CREATE TRIGGER note_update AFTER UPDATE ON public.settings REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_settings();

CREATE TABLE public.sign_in_attempts (
    sha256 bytea NOT NULL,
    nonce text NOT NULL,
    verifier text NOT NULL,
    next text NOT NULL,
    expires_at timestamp with time zone NOT NULL
);
ALTER TABLE ONLY public.sign_in_attempts ADD CONSTRAINT sign_in_attempts_pkey PRIMARY KEY (sha256);

CREATE TABLE public.sign_in_links (
    sha256 bytea NOT NULL,
    identity_id uuid NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    used_at timestamp with time zone
);
ALTER TABLE ONLY public.sign_in_links ADD CONSTRAINT sign_in_links_pkey PRIMARY KEY (sha256);
CREATE INDEX sign_in_links_identity_id_idx ON public.sign_in_links USING btree (identity_id);
CREATE TRIGGER note_delete AFTER DELETE ON public.sign_in_links REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_sign_in_links();
CREATE TRIGGER note_insert AFTER INSERT ON public.sign_in_links REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_sign_in_links();
CREATE TRIGGER note_update AFTER UPDATE ON public.sign_in_links REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_sign_in_links();
ALTER TABLE ONLY public.sign_in_links ADD CONSTRAINT sign_in_links_identity_id_fkey FOREIGN KEY (identity_id) REFERENCES public.identities(id);

CREATE TABLE public.sign_in_mails (
    id uuid NOT NULL,
    email text NOT NULL,
    asked_at timestamp with time zone NOT NULL,
    next_attempt_on timestamp with time zone,
    attempts integer DEFAULT 0 NOT NULL
);
ALTER TABLE ONLY public.sign_in_mails ADD CONSTRAINT sign_in_mails_pkey PRIMARY KEY (id);
CREATE UNIQUE INDEX one_pending_mail_an_address ON public.sign_in_mails USING btree (lower(email)) WHERE (next_attempt_on IS NOT NULL);
CREATE INDEX sign_in_mails_lower_asked_at_idx ON public.sign_in_mails USING btree (lower(email), asked_at);
CREATE INDEX sign_in_mails_next_attempt_on_idx ON public.sign_in_mails USING btree (next_attempt_on) WHERE (next_attempt_on IS NOT NULL);

CREATE TABLE public.source_secrets (
    application_id uuid NOT NULL,
    name text NOT NULL,
    host text NOT NULL,
    sealed bytea NOT NULL,
    set_on timestamp with time zone NOT NULL
);
ALTER TABLE ONLY public.source_secrets ADD CONSTRAINT source_secrets_pkey PRIMARY KEY (application_id, name);
CREATE TRIGGER note_delete AFTER DELETE ON public.source_secrets REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_source_secrets();
CREATE TRIGGER note_insert AFTER INSERT ON public.source_secrets REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_source_secrets();
CREATE TRIGGER note_update AFTER UPDATE ON public.source_secrets REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_source_secrets();
ALTER TABLE ONLY public.source_secrets ADD CONSTRAINT source_secrets_application_id_fkey FOREIGN KEY (application_id) REFERENCES public.applications(id);

CREATE TABLE public.sources (
    application_id uuid NOT NULL,
    definition jsonb NOT NULL,
    changed_on timestamp with time zone NOT NULL
);
ALTER TABLE ONLY public.sources ADD CONSTRAINT sources_pkey PRIMARY KEY (application_id);
CREATE TRIGGER note_delete AFTER DELETE ON public.sources REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_sources();
CREATE TRIGGER note_insert AFTER INSERT ON public.sources REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_sources();
CREATE TRIGGER note_update AFTER UPDATE ON public.sources REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_sources();
ALTER TABLE ONLY public.sources ADD CONSTRAINT sources_application_id_fkey FOREIGN KEY (application_id) REFERENCES public.applications(id);

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
ALTER TABLE ONLY public.stages ADD CONSTRAINT stages_pkey PRIMARY KEY (event_id, sequence);
CREATE INDEX stages_to_come ON public.stages USING btree (scheduled_start) WHERE (status = 'Scheduled'::text);
CREATE TRIGGER note_delete AFTER DELETE ON public.stages REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_stages();
CREATE TRIGGER note_insert AFTER INSERT ON public.stages REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_stages();
CREATE TRIGGER note_update AFTER UPDATE ON public.stages REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_stages();
ALTER TABLE ONLY public.stages ADD CONSTRAINT stages_event_id_fkey FOREIGN KEY (event_id) REFERENCES public.personnel_events(id);

CREATE TABLE public.stand_ins (
    id uuid NOT NULL,
    number bigint NOT NULL,
    identity_id uuid NOT NULL,
    stand_in_id uuid NOT NULL,
    type text,
    starts_on timestamp with time zone NOT NULL,
    ends_on timestamp with time zone NOT NULL,
    comment text DEFAULT ''::text NOT NULL,
    created_date timestamp with time zone NOT NULL,
    created_by text NOT NULL,
    CONSTRAINT stand_in_is_another_person CHECK ((identity_id <> stand_in_id)),
    CONSTRAINT type_is_known CHECK ((type = ANY (ARRAY['Approve'::text, 'Resolve'::text, 'Verify'::text])))
);
ALTER TABLE public.stand_ins ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY ( SEQUENCE NAME public.stand_ins_number_seq START WITH 1 INCREMENT BY 1 NO MINVALUE NO MAXVALUE CACHE 1 );
ALTER TABLE ONLY public.stand_ins ADD CONSTRAINT stand_ins_pkey PRIMARY KEY (id);
CREATE INDEX stand_ins_identity_id_ends_on_idx ON public.stand_ins USING btree (identity_id, ends_on);
CREATE INDEX stand_ins_stand_in_id_ends_on_idx ON public.stand_ins USING btree (stand_in_id, ends_on);
CREATE TRIGGER note_delete AFTER DELETE ON public.stand_ins REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_stand_ins();
CREATE TRIGGER note_insert AFTER INSERT ON public.stand_ins REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_stand_ins();
CREATE TRIGGER note_update AFTER UPDATE ON public.stand_ins REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_stand_ins();
CREATE TRIGGER notify_of_ended_stand_in AFTER UPDATE OF ends_on ON public.stand_ins FOR EACH ROW WHEN ((new.ends_on < old.ends_on)) EXECUTE FUNCTION public.notify_of_stand_in();
CREATE TRIGGER notify_of_new_stand_in AFTER INSERT ON public.stand_ins FOR EACH ROW EXECUTE FUNCTION public.notify_of_stand_in();
ALTER TABLE ONLY public.stand_ins ADD CONSTRAINT stand_ins_identity_id_fkey FOREIGN KEY (identity_id) REFERENCES public.identities(id);
ALTER TABLE ONLY public.stand_ins ADD CONSTRAINT stand_ins_stand_in_id_fkey FOREIGN KEY (stand_in_id) REFERENCES public.identities(id);

CREATE TABLE public.stored_pages (
    list text NOT NULL COLLATE pg_catalog."C",
    page integer NOT NULL,
    total bigint NOT NULL,
    key text[] COLLATE pg_catalog."C",
    found_on timestamp with time zone NOT NULL
);
ALTER TABLE ONLY public.stored_pages ADD CONSTRAINT stored_pages_pkey PRIMARY KEY (list, page);
CREATE INDEX stored_pages_by_age ON public.stored_pages USING btree (found_on) WHERE (page = 0);

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
ALTER TABLE ONLY public.tokens ADD CONSTRAINT tokens_name_key UNIQUE (name);
ALTER TABLE ONLY public.tokens ADD CONSTRAINT tokens_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.tokens ADD CONSTRAINT tokens_public_id_key UNIQUE (public_id);
CREATE TRIGGER note_delete AFTER DELETE ON public.tokens REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_tokens();
CREATE TRIGGER note_insert AFTER INSERT ON public.tokens REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_tokens();
CREATE TRIGGER note_update AFTER UPDATE ON public.tokens REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_tokens();

CREATE TABLE public.unconfirmed_emails (
    identity_id uuid NOT NULL,
    sign_in_email text NOT NULL,
    set_on timestamp with time zone NOT NULL
);
ALTER TABLE ONLY public.unconfirmed_emails ADD CONSTRAINT unconfirmed_emails_pkey PRIMARY KEY (identity_id);
CREATE INDEX unconfirmed_emails_lower_idx ON public.unconfirmed_emails USING btree (lower(sign_in_email)) WHERE (sign_in_email <> ''::text);
CREATE TRIGGER note_delete AFTER DELETE ON public.unconfirmed_emails REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_unconfirmed_emails();
CREATE TRIGGER note_insert AFTER INSERT ON public.unconfirmed_emails REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_unconfirmed_emails();
CREATE TRIGGER note_to_match AFTER INSERT OR DELETE OR UPDATE ON public.unconfirmed_emails FOR EACH ROW EXECUTE FUNCTION public.note_email_to_match();
CREATE TRIGGER note_update AFTER UPDATE ON public.unconfirmed_emails REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_unconfirmed_emails();
ALTER TABLE ONLY public.unconfirmed_emails ADD CONSTRAINT unconfirmed_emails_identity_id_fkey FOREIGN KEY (identity_id) REFERENCES public.identities(id);

CREATE TABLE public.waiting_requests (
    request_id uuid NOT NULL,
    list_key text NOT NULL COLLATE pg_catalog."C"
);
ALTER TABLE ONLY public.waiting_requests ADD CONSTRAINT waiting_requests_pkey PRIMARY KEY (request_id);
CREATE UNIQUE INDEX waiting_requests_listed_ ON public.waiting_requests USING btree (list_key);
CREATE TRIGGER keep_list_on_delete AFTER DELETE ON public.waiting_requests REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_waiting_requests_on_delete();
CREATE TRIGGER keep_list_on_insert AFTER INSERT ON public.waiting_requests REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_waiting_requests_on_insert();
CREATE TRIGGER keep_list_on_truncate AFTER TRUNCATE ON public.waiting_requests FOR EACH STATEMENT EXECUTE FUNCTION public.empty_list();
CREATE TRIGGER keep_list_on_update AFTER UPDATE ON public.waiting_requests REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_waiting_requests_on_update();

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
ALTER TABLE ONLY public.webhook_attempts ADD CONSTRAINT webhook_attempts_pkey PRIMARY KEY (delivery_id, number);
ALTER TABLE ONLY public.webhook_attempts ADD CONSTRAINT webhook_attempts_delivery_id_fkey FOREIGN KEY (delivery_id) REFERENCES public.webhook_deliveries(id) ON DELETE CASCADE;

CREATE TABLE public.webhook_callbacks (
    delivery_id uuid NOT NULL,
    sha256 bytea NOT NULL,
    number bigint NOT NULL,
    received_on timestamp with time zone NOT NULL,
    content text NOT NULL
);
ALTER TABLE public.webhook_callbacks ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY ( SEQUENCE NAME public.webhook_callbacks_number_seq START WITH 1 INCREMENT BY 1 NO MINVALUE NO MAXVALUE CACHE 1 );
ALTER TABLE ONLY public.webhook_callbacks ADD CONSTRAINT webhook_callbacks_pkey PRIMARY KEY (delivery_id, sha256);
CREATE TRIGGER note_delete AFTER DELETE ON public.webhook_callbacks REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_webhook_callbacks();
CREATE TRIGGER note_insert AFTER INSERT ON public.webhook_callbacks REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_webhook_callbacks();
CREATE TRIGGER note_update AFTER UPDATE ON public.webhook_callbacks REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_webhook_callbacks();
ALTER TABLE ONLY public.webhook_callbacks ADD CONSTRAINT webhook_callbacks_delivery_id_fkey FOREIGN KEY (delivery_id) REFERENCES public.webhook_deliveries(id) ON DELETE CASCADE;

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
ALTER TABLE public.webhook_deliveries ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY ( SEQUENCE NAME public.webhook_deliveries_number_seq START WITH 1 INCREMENT BY 1 NO MINVALUE NO MAXVALUE CACHE 1 );
ALTER TABLE ONLY public.webhook_deliveries ADD CONSTRAINT webhook_deliveries_pkey PRIMARY KEY (id);
CREATE INDEX webhook_deliveries_access_request_id_list_key_idx ON public.webhook_deliveries USING btree (access_request_id, list_key);
CREATE INDEX webhook_deliveries_due ON public.webhook_deliveries USING btree (webhook_id, next_attempt_on, number) WHERE (status = 'Pending'::text);
CREATE INDEX webhook_deliveries_in_flight ON public.webhook_deliveries USING btree (webhook_id) WHERE (lease IS NOT NULL);
CREATE INDEX webhook_deliveries_in_turn ON public.webhook_deliveries USING btree (webhook_id, access_request_id, number) WHERE (untried AND (status = 'Pending'::text));
CREATE UNIQUE INDEX webhook_deliveries_listed_ ON public.webhook_deliveries USING btree (list_key);
CREATE INDEX webhook_deliveries_listed_status ON public.webhook_deliveries USING btree (status, list_key);
CREATE INDEX webhook_deliveries_listed_webhook_id ON public.webhook_deliveries USING btree (webhook_id, list_key);
CREATE INDEX webhook_deliveries_listed_webhook_id_status ON public.webhook_deliveries USING btree (webhook_id, status, list_key);
CREATE TRIGGER keep_list_on_delete AFTER DELETE ON public.webhook_deliveries REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_webhook_deliveries_on_delete();
CREATE TRIGGER keep_list_on_insert AFTER INSERT ON public.webhook_deliveries REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_webhook_deliveries_on_insert();
CREATE TRIGGER keep_list_on_truncate AFTER TRUNCATE ON public.webhook_deliveries FOR EACH STATEMENT EXECUTE FUNCTION public.empty_list();
CREATE TRIGGER keep_list_on_update AFTER UPDATE ON public.webhook_deliveries REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.keep_webhook_deliveries_on_update();
ALTER TABLE ONLY public.webhook_deliveries ADD CONSTRAINT webhook_deliveries_webhook_id_fkey FOREIGN KEY (webhook_id) REFERENCES public.webhooks(id);

CREATE TABLE public.webhook_tallies (
    outcome text NOT NULL,
    within double precision NOT NULL,
    shard integer NOT NULL,
    attempts bigint NOT NULL,
    seconds double precision NOT NULL
);
ALTER TABLE ONLY public.webhook_tallies ADD CONSTRAINT webhook_tallies_pkey PRIMARY KEY (outcome, within, shard);

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
ALTER TABLE ONLY public.webhooks ADD CONSTRAINT webhooks_pkey PRIMARY KEY (id);
CREATE UNIQUE INDEX webhooks_by_name ON public.webhooks USING btree (name) WHERE (deleted_on IS NULL);
CREATE TRIGGER note_delete AFTER DELETE ON public.webhooks REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_webhooks();
CREATE TRIGGER note_insert AFTER INSERT ON public.webhooks REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_webhooks();
CREATE TRIGGER note_update AFTER UPDATE ON public.webhooks REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_webhooks();
CREATE TRIGGER notify_of_failing_webhook AFTER UPDATE ON public.webhooks FOR EACH ROW WHEN (((new.deleted_on IS NULL) AND (((new.failures >= public.failures_until_probed()) AND (old.failures < public.failures_until_probed())) OR ((new.disabled_reason IS NOT NULL) AND (old.disabled_reason IS NULL))))) EXECUTE FUNCTION public.notify_of_failing_webhook();
ALTER TABLE ONLY public.webhooks ADD CONSTRAINT webhooks_application_id_fkey FOREIGN KEY (application_id) REFERENCES public.applications(id);

-- In rolecall/migrations:
-- 229c1cddc177 function in_any_case(text)
-- 389904c47314 function username_key(text)
-- 50fbeb2e42cc function time_key(timestamp with time zone, bigint)
-- 05bb7d68e0a8 function username_skeleton(text)
-- 3a406bc99890 function permission_in_any_case(text, text, text)

-- In rolecall/schema/access_models.sql:
-- f53fd0634b2a function access_model_grants_in(jsonb)
-- 86fc6d1ee37f function access_model_lock()
-- bba013f3ed6c function access_model_people(text)
-- 2e70664d725c function access_model_test(jsonb)
-- 587e83f58b98 function access_model_matches(text)
-- 657f08740d9c function access_models_matching(public.identities)
-- 69cee1e416f5 function identities_matching(jsonb)
-- d7cd2158fa3f function keep_access_model_members_on_delete()
-- f31aae14322d function keep_access_model_members_on_insert()
-- be68692c1571 function keep_access_model_members_on_update()
-- a93cfdbd4330 function keep_past_model_members()
-- 5b6fba91aab7 function note_access_models()
-- 234474d21809 function refresh_access_model_members()
-- 413beed846ee view access_model_privileges

-- In rolecall/schema/access_requests.sql:
-- 35a71ff3407e function affected_people(public.access_requests)
-- 01068e29c4d2 function members_who_must_not_approve(uuid, text, uuid[])
-- 38edbe6e64bc function with_token_owners(uuid[])
-- 895cdb19e345 function reporters(public.access_requests)
-- 8436e7020a08 function barred_members(public.access_requests)
-- ed57c06ec867 function can_be_overtaken(public.access_requests)
-- 144b1f4ca0d3 function resolved_by(uuid)
-- 1993a00dc48e function done_by(uuid)
-- d87daf8082b8 function carried_out_by(uuid, text)
-- f2a8ed6d6f19 function contents_about(public.access_requests)
-- 11a18943e740 function content_of(public.privileges, public.access_requests)
-- 623c8ad46a4d function counts_on_removals(uuid)
-- a6c8110d2474 function ended_on(public.access_requests)
-- e3592cfac7dd function parties(public.access_requests)
-- a78511037d9b function excluded_from(public.access_requests, text)
-- 64ed63ccec90 function excluded_stand_ins(public.access_requests, text, uuid)
-- f8e5b8c4ad2b function gives(public.access_requests)
-- 357dc11c1272 function has_changed_access(public.access_requests)
-- 1f7692d77a87 function is_membership(public.privileges)
-- e27d3c532a7b function is_shown(public.access_requests, bigint)
-- 5f4b44fe3492 function shows_requests(public.application_imports)
-- 04d9b60eadb9 function is_shown_since(uuid, timestamp with time zone, text[], bigint)
-- bf6a86126efe function is_to_recheck(text)
-- 767c324739e9 function is_unshown(public.access_requests)
-- a22e68191ca4 function keep_access_requests_on_delete()
-- 7a33dbfb2eb9 function keep_access_requests_on_insert()
-- 96052504cea7 function keep_access_requests_on_update()
-- dccdc9aea0ac function keep_past_resolutions()
-- 001b113fe897 function keep_waiting_requests()
-- 975f6154b024 function keep_waiting_requests_on_delete()
-- 7faf70364de6 function keep_waiting_requests_on_insert()
-- f9afe3981f7a function keep_waiting_requests_on_update()
-- d45c175d3737 function note_access_requests()
-- 73d41bfdb4be function note_privileges()
-- df49cf536452 function note_related_items()
-- ba443132e581 function note_request_conflicts()
-- 5a0409ad54a1 function note_responses()
-- da19d2dde373 function open_changes_of_people(uuid[], boolean)
-- bf595c3f0eb3 function recheck_all_requests()
-- 2491e6bd3cb1 function recheck_requests(uuid[])
-- 8d89171247fc function recheck_requests_after_import()
-- 72ac2a638c04 function recheck_requests_of_event()
-- 6d3771ac9788 function recheck_requests_of_groups()
-- 9a79b7f022ad function recheck_requests_of_holders()
-- 1229125fdf65 function recheck_requests_of_matches()
-- fe6cd905761e function turn_of(public.access_requests)
-- 4188659ab5c7 function requested_nesting(uuid[], text[], boolean)
-- d76083df75a0 function take_turns(text, text[])
-- 0b590f5a4f97 function take_turns_of_nesting(boolean)

-- In rolecall/schema/accounts.sql:
-- 887375b53992 function access_rank(text)
-- a61e2b803ba6 function deepest_nesting()
-- ae887717b70d function group_shown(integer)
-- 6822e90fff32 function parents_of(integer)
-- 4f26f749b315 function groups_above(integer[], integer)
-- 6ffed75146ba function now_import()
-- 654ffb8eb8cf function risk_rank(text)
-- 29ee5d3293c7 function given_risk_at(integer, integer)
-- 16887573d076 function group_risk_at(integer, integer)
-- d551958acae6 function group_risk(integer)
-- 17b5c210985e function known_risk(integer, integer)
-- af590a6d534c function privilege_risk(integer, integer)
-- 20aff38bcc61 function account_risk(integer)
-- 0494931b9cf7 function assignments_of(integer, integer)
-- e8b2fbbfd887 function children_of(integer)
-- 7db576bc4aa3 function groups_below(integer, integer)
-- 0b158251212a function group_header(text)
-- f928f63d5b4e function count_matching()
-- 13baed240787 function current_parents(uuid[])
-- f8bafd52300e function match_then(public.accounts, timestamp with time zone)
-- 538b2d2429f9 function identity_then(public.accounts, timestamp with time zone)
-- d72fd613155a function group_cycle(integer, integer)
-- 357b9efa5b5b function group_names(integer[])
-- 5bbe25514e34 function keep_past_matches()
-- 860628d93d55 function lock_matching()
-- 81478354ddbf function matches_of(public.accounts)
-- 4f373dff907b function note_email_to_match()
-- 129923b2deed function note_former_holders()
-- 7060cf76dd10 function note_holders()
-- 8b5963d70279 function note_identities_to_match()
-- 1f03ee30c1c4 function note_pin()
-- b717072f92a3 function usual_value(integer, text)

-- In rolecall/schema/application_imports.sql:
-- d734bc749660 function keep_application_imports_on_delete()
-- 41050c526748 function keep_application_imports_on_insert()
-- d65bb4c838a4 function keep_application_imports_on_update()
-- 2905cf3c56a3 function key_application_import()
-- 27c7209b8c85 function note_application_imports()
-- d949e0c06aaa function note_import_files()
-- 4a1912120f4e function note_import_runs()

-- In rolecall/schema/applications.sql:
-- 85a048daa9d1 function contents_of(public.file_groups)
-- 76c6d5e28f1a function keep_applications_on_delete()
-- d470f914aae0 function keep_applications_on_insert()
-- 9d9d4f93280f function keep_applications_on_update()
-- 8eae8b9cf0ba function note_applications()
-- b89751fbc308 function note_connectors()
-- ee8f1fdb1608 function note_file_groups()
-- 43a5c4541fcd function note_schedules()

-- In rolecall/schema/audit.sql:
-- e1d7ec7e9056 function audit_hash(bytea, bigint, text)
-- c207618e002b function camel(text)
-- ab3c9c6c2c9d function chain_changes()
-- 905a24a6b31b function chain_notes()
-- b7836210caea function fields_that_differ(jsonb, jsonb)
-- 2aba3ef804f5 function changes_in(jsonb)
-- 452919f57f13 function fields_of_new(regclass, text)
-- ba05d020ef4d function is_bulk_change()
-- a3e73025fde7 procedure keep_audit(regclass, text, text, text, text, text)
-- 02b41030f3c9 function keep_audit_events_on_delete()
-- 49986170422f function keep_audit_events_on_insert()
-- 2d262047b6df function keep_audit_events_on_update()
-- a470db0f5c26 function keep_notes(text)
-- dd4481977c2b function must_keep_notes(text, text)
-- f8810b3751a8 function name_of(text, uuid)
-- ed573093e448 function new_records_in(jsonb)
-- 56e202dceae2 function note_changes(text)
-- d90dfa5d2186 function take_chain()
-- 02975c5489d4 function with_notes(text, text)

-- In rolecall/schema/carriers.sql:
-- c964e2e8e144 function note_carried_requests()
-- 3aae17cb7237 function note_carrier_steps()
-- 191cfb6dd6ee function note_carriers()
-- 734d77e5ad11 function nudge_carriers()

-- In rolecall/schema/conflicts.sql:
-- 54c75d98ba44 function drop_approvals(uuid[], text, timestamp with time zone)
-- f4a1adbeb8d7 function drop_approvals_of_rule()
-- 4f9f8b2628e3 function end_exceptions(uuid[], text, text, timestamp with time zone)
-- 6fba8e34a6a5 function end_exceptions_of_duty()
-- acabb6faa312 function end_outgrown_exceptions()
-- 9a36d9c1bdf7 function except_conflicts()
-- d9bcb59affac function note_conflict_exceptions()
-- 52923bb73b76 function note_exception_approvals()
-- 162445b0a5d8 function record_ends(uuid[], text, timestamp with time zone)
-- aca68ab9da46 function refuse_move()
-- 300d2627f01d function reopen_conflicts(uuid[])

-- In rolecall/schema/connector_templates.sql:
-- b238c03f2f05 function note_connector_templates()

-- In rolecall/schema/console.sql:
-- a547fa860cca function end_former_rights()
-- c10d1991c031 function end_sign_ins()
-- 69d25ff17e1f function end_sign_ins_of_found()
-- 2c9ab04149df function note_console_passwords()
-- 81227b63b9f9 function note_console_roles()
-- 3b117d5a12b0 function note_console_sessions()
-- b34f40bf34d5 function note_sign_in_links()

-- In rolecall/schema/constants.sql:
-- f2489697b51f function access_in_order()
-- ede511480115 function levels_in_order()
-- ed6875548e64 function administrators_id()
-- 1fe59acd5703 function audit_chains()
-- feaeace5b5e6 function types_without_sign_in()
-- 9ba56880eddc function awaited_statuses()
-- 5194940598e4 function awaited_type(text)
-- e119b8f39686 function carriers_channel()
-- b62098ec782b function conflict_moves()
-- f30a2172565d function default_group_header()
-- 2abf66c0de71 function deliveries_channel()
-- e23cf0b592da function zero_width()
-- ea1c2db8f503 function event_description(text)
-- 840aa6dda2e6 function event_display(text)
-- c9ce40a35606 function exception_moves()
-- 700f8e8da35e function failures_until_probed()
-- ffcf7ca205b3 function notifications_channel()
-- 2b64f40ba68c function personnel_events_channel()
-- 51aeef3c23df function review_item_moves()
-- cd97ab0ea9cf function reviews_channel()

-- In rolecall/schema/core.sql:
-- 7edf6353787d function empty_list()
-- 7169ab0efd82 function fold_list(text)
-- a1ce1521737d function fold_lists()
-- 96c2de43cc77 function is_bulk(text, jsonb, bigint)
-- 87c565330ca9 procedure keep_list(regclass, text[])
-- f93b171d5515 procedure keep_lists(regclass, text[], text[])
-- 811b42e38ea0 function list_patience()
-- 081d562afc6a function list_stride()
-- ad2fb49e8fd4 function written_on()
-- 044453d528c2 function recount_list(text, text[], text[], jsonb)
-- 59f63ad63b87 function respace_list(text, jsonb)
-- 700f2a8c1720 function subsets_of(text[])
-- 2ca3f2537871 function take_list(text)

-- In rolecall/schema/duties.sql:
-- b785748e6077 function are_held_widely(uuid[])
-- 603c1a5779b9 function duty_holdings(uuid[], integer[])
-- 27d9b21a4b67 function duty_spans(uuid[], uuid[])
-- 18d6a07ecf9f function is_conflict(bigint, bigint)
-- d536665ec18f function conflict_starts(uuid[], uuid[])
-- 3d786088a5cb function is_group_header(integer, text)
-- 71e7963144d6 function duties_of_gone_group(integer)
-- bd7323123b06 function is_in_catalogue(uuid, text, text, text)
-- 5a4a2aec95e1 function like_wildcard(text)
-- 1fb356ca210d function look_of(text)
-- 7b22a4031a87 function looks_like(text, text)
-- 4a565c9f2d6f function names_of_applications()
-- 0bdda8fb7ebf function duties_given(uuid, text, text, text, text)
-- 3230b0e60b27 function duties_given_by(uuid[], text[], text[], text[], text[])
-- 30b6e14df737 function duty_access(uuid[], uuid[], timestamp with time zone)
-- 054f8781e85a function entitlements_matching(jsonb, integer)
-- 9c1bf02aa4cf function entitlements_of_duties(uuid[], integer)
-- ab4902e88fc5 function evaluate_archived()
-- 4079b8e5352e function evaluate_duties(uuid[], timestamp with time zone)
-- 11731267d3e5 function evaluate_everything(timestamp with time zone)
-- 40d0eee9a9f4 function evaluate_import()
-- 281425c827e1 function evaluate_people(uuid[], timestamp with time zone, integer)
-- db798a6c06ad function evaluate_rules(uuid[], timestamp with time zone)
-- fd2dcd04ca22 function groups_with_duties(uuid[], uuid[])
-- 8307277fc280 function keep_conflicts_on_delete()
-- 32bdb2575797 function keep_conflicts_on_insert()
-- 0717bf4d3863 function keep_conflicts_on_update()
-- e28568d3d25e function keep_duty_holders_on_delete()
-- f14328d76fa1 function keep_duty_holders_on_insert()
-- 64a2651b7c1b function keep_duty_holders_on_update()
-- 73a00b6d99ff function keep_former_name()
-- e7d750ba6aa0 function keep_sides(uuid[])
-- f265edec2bb7 function keep_sides_of_accounts(integer[], uuid[])
-- acb37d9a5fd5 function match_renamed()
-- 9bf5882186fc function match_same_entitlements()
-- 5142eec18ab5 function move_duty_holders()
-- 7cf28621ece0 function note_duties()
-- 48f9992b0621 function note_duty_rules()
-- e15afbdc71f2 function note_people_to_evaluate()
-- 4d234ae400cf function people_touched(integer, integer[])
-- 9f685fb0ac2b function refresh_conflicts(uuid[], uuid[], timestamp with time zone, integer)
-- 67903a81da3b function refresh_duties(uuid[])
-- 58e4f0e3a444 function refresh_duty_groups(uuid[], uuid[])
-- 02fe83c338ad function refresh_duty_holders(uuid[], uuid[])
-- 23c76da76026 function refresh_rules(uuid[], timestamp with time zone)
-- 6d87c80404e2 function rules_concerned(uuid[], uuid[], uuid[])
-- 26365581cdc5 function take_people_to_evaluate()

-- In rolecall/schema/entitlements.sql:
-- eb9fc7d2e94c function entitlement_shown(uuid)
-- 0de2301f8e81 function former_selves(uuid)
-- 17c125be6ffa function names_over_time(uuid)
-- 7f0a5191e35d function holdings_of(uuid, integer)
-- cdba1918dac0 function holdings_of_accounts(uuid, integer, integer[])
-- 4f3e0f8e3b6f function holdings_within(uuid, integer)
-- 2b122f05ad79 function keep_entitlements_on_delete()
-- e93f98039b02 function keep_entitlements_on_insert()
-- 73baf082d847 function keep_entitlements_on_update()
-- 78b73d4abfd2 function latest_self(uuid)
-- 6aac4358dde6 function note_acting_owners()
-- ba253be79850 function note_curations()
-- 839d94f2ecc0 function rate_groups(integer[])
-- d2ab265a7e49 function refresh_entitlements(uuid, integer)
-- 815b39a99532 function show_curation(uuid)
-- 135016970d63 function show_entitlements()
-- 8d5c15318a7b view renamed_entitlements
-- 29b83f6564aa view shown_entitlements

-- In rolecall/schema/exports.sql:
-- 1cf9aaba0843 function keep_exports_on_delete()
-- 20872837e74f function keep_exports_on_insert()
-- 78d2d33981e5 function keep_exports_on_update()
-- 01d0e22f75fb function note_exports()

-- In rolecall/schema/identities.sql:
-- 2ed825f8c1ae function confirm_email()
-- a0af6966b9a8 function has_confirmed_bearer(text)
-- 784c80c7ce13 function keep_identities_on_delete()
-- c55a644abca5 function keep_identities_on_insert()
-- 234405009853 function keep_identities_on_update()
-- 905c0b1ce50f function keep_past_departures()
-- 33ec0934164d function note_identities()
-- acc0225a7e83 function note_unconfirmed_emails()

-- In rolecall/schema/notifications.sql:
-- 26193a34583d function author_id()
-- 75887b01619a function keep_notification_messages_on_delete()
-- 026c463f1510 function keep_notification_messages_on_insert()
-- 00831f53c839 function keep_notification_messages_on_update()
-- 3225034cc08a function keep_notifications_on_delete()
-- 98db2536ba2c function keep_notifications_on_insert()
-- ed0d73d52b30 function keep_notifications_on_update()
-- 3fad4fb768d8 function note_met_rules()
-- 1d28435e8eb1 function note_notification_preferences()
-- af8603653920 function note_notification_secrets()
-- 1d9a2d0022e1 function note_notification_settings()
-- a455df47bd14 function note_notification_zones()
-- 2ce5c6068c3e function note_submitted_review()
-- 32f7f1ceb959 function notify_people(uuid[], text, text, uuid, text)
-- 4bebf28c7336 function people_to_notify(uuid)
-- 24c32dcb49bc function people_who_may_respond(public.access_requests, text, uuid)
-- 1e6e17e0bfad function notify_further_reviewer(uuid, text, uuid)
-- 8814f8503482 function notify_of_acting_owners()
-- 0ee02e70d069 function notify_of_approval()
-- eb2445b1e589 function notify_of_assigned_event()
-- c69d50ff39c1 function notify_of_conflicts()
-- 291e69908cc9 function notify_of_ending_exceptions(timestamp with time zone)
-- 5b2ae44060a2 function notify_of_exception()
-- 9cab86c2cf17 function notify_of_failed_import()
-- 202c0f735988 function notify_of_failing_channel()
-- 631620bc74ea function notify_of_failing_webhook()
-- 74a69de636e8 function notify_of_held_import()
-- 0f6f5e861a93 function notify_of_leaves(timestamp with time zone)
-- 74f73fc68f46 function notify_of_left_control_owners()
-- 23122610c18d function notify_of_moved_items()
-- 836c83b47b83 function notify_of_moved_requests()
-- 87b15ac6fecf function notify_of_personnel_events()
-- 1c711a14c8d2 function notify_of_removed_approval()
-- 2cd8efd87cee function person_or_administrators(uuid)
-- c9a65c8e0d2b function notify_of_report(uuid, uuid, boolean)
-- 5a037ce846b2 function notify_of_request_events()
-- def14d7b3e16 function notify_of_review_events()
-- 30e7a2f57de1 function notify_of_stand_in()
-- f711aea310d8 function notify_of_templates()
-- 11682706131e function notify_reviewers(uuid[], text)
-- d194bdfddb08 function people_asked(uuid[])
-- 77349459b596 function people_of_rule(uuid)
-- 7b8526a22aef function people_who_approve(uuid)
-- 502c4a453547 function people_who_respond(uuid, text)
-- 5557cef493a5 function people_with_items(uuid, uuid[])
-- 7124f1d685df function remind_approvers(uuid)

-- In rolecall/schema/personnel_events.sql:
-- 78443940ee8d function keep_absences()
-- f97637fabe5c function keep_personnel_events_on_delete()
-- 48ee201a75cd function keep_personnel_events_on_insert()
-- 1278c07c7655 function keep_personnel_events_on_update()
-- 36f3bfa8f547 function note_event_news()
-- 27481cd34058 function note_personnel_events()
-- 6702b298f90d function note_stages()

-- In rolecall/schema/reports.sql:
-- b5604086b0e9 function note_reports()
-- b23fff13ad0f function ship_reports()

-- In rolecall/schema/reviews.sql:
-- 90ae16cd443a function follow_review_requests()
-- f224a6b53f49 function keep_item_reasons()
-- 4ca6382b71a3 function keep_review_item_reasons_on_delete()
-- 1ec1cb4a5f66 function keep_review_item_reasons_on_insert()
-- 4bb8839e292e function keep_review_item_reasons_on_update()
-- 19ac657c8cb5 function keep_review_items_on_delete()
-- 9361f4783087 function keep_review_items_on_insert()
-- 338e732ada1b function keep_review_items_on_update()
-- cd47e94a1128 function keep_reviews_on_delete()
-- 142b8faa2fbe function keep_reviews_on_insert()
-- a5e97ae421b0 function keep_reviews_on_update()
-- 7d1185bfdace function matched_then(public.accounts, timestamp with time zone)
-- fe2f9ae307b9 function note_import_to_review()
-- 2360099855c5 function note_review_acceptances()
-- ea321f4c3501 function note_review_bulks()
-- 7aaf1e8b9f1e function note_review_changes()
-- aaa42ad0ca7f function note_review_decisions()
-- 98122cd33de9 function note_review_moves()
-- abe28d88a92b function note_review_populations()
-- 8339752f8466 function note_review_steps()
-- 32e458f129ad function note_review_submissions()
-- bd4a99413d3a function note_review_templates()
-- 9832fb81257f function note_reviews()
-- d12d76770946 function refuse_item_move()
-- d42195e1f6ec function review_obstacle(uuid, timestamp with time zone)
-- e72c65c0e96b function show_review_items()

-- In rolecall/schema/scim_server.sql:
-- 732a1b5d2b1f function note_scim_tokens()

-- In rolecall/schema/settings.sql:
-- 4a82f14421d9 function note_settings()

-- In rolecall/schema/sources.sql:
-- 29668c78c25e function note_source_secrets()
-- f34d34605f84 function note_sources()

-- In rolecall/schema/stand_ins.sql:
-- 2ae86b549e19 function entered_leave_of(uuid, uuid)
-- ced8248223b4 function is_absent(uuid, timestamp with time zone)
-- b4009d19f432 function obstacle_of(uuid)
-- 045fe060222a function may_decide(uuid)
-- ed1abc2cdad6 function automatic_stand_in(uuid, timestamp with time zone)
-- e032b670b055 function entered_current_leave(uuid[], uuid[], timestamp with time zone)
-- ff36ab8b9108 function stand_in_of(uuid, text, timestamp with time zone)
-- df43bb108532 function eligible_stand_ins(uuid, text, timestamp with time zone, uuid[])
-- b653824322cc function can_be_answered(uuid, text, timestamp with time zone, uuid[])
-- 6b1da87b1d1d function note_stand_ins()
-- bd0d3005d924 function stand_ins_for(uuid, text, timestamp with time zone)
-- b967a50b83db function responds_for(uuid, timestamp with time zone)
-- 434be673876f function stand_ins_between(uuid, uuid, text, timestamp with time zone)

-- In rolecall/schema/tokens.sql:
-- d68c37c36e9a function note_tokens()

-- In rolecall/schema/webhooks.sql:
-- e88e8db3729f function fan_out_events()
-- c7c3f73af6f8 function fan_out_review_events()
-- 5d5419f5b5b5 function keep_webhook_deliveries_on_delete()
-- 5c77d2ff28a7 function keep_webhook_deliveries_on_insert()
-- d22242a6658d function keep_webhook_deliveries_on_update()
-- 381b52e8b48b function note_webhook_callbacks()
-- 1ee24c922a03 function note_webhooks()
-- 01f4d53ef312 function webhook_body(uuid, timestamp with time zone, text, json)
-- a4311f1b0b04 function webhook_envelope(uuid, timestamp with time zone, text, text, json)
-- 263962be935a function webhook_review_body(uuid, timestamp with time zone, text, json)

-- In rolecall/schema/work_items.sql:
-- 9f9d9fd67584 function note_comments()
