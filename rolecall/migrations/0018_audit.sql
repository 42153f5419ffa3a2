-- The audit chain: docs/decisions/0083 and 0084. Statements on governed tables leave notes (what a row was, what it is); when their
-- transaction commits, the notes become one entry for each thing that changed, and the entries are chained.

CREATE TABLE audit_events (
    number    bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    chain     int NOT NULL,
    -- The very text that is hashed, as PostgreSQL writes jsonb: keys in order, shorter ones first. The columns below only repeat it, for filters.
    entry     text NOT NULL,
    previous  bytea NOT NULL,
    hash      bytea NOT NULL,
    action_key text COLLATE "C" NOT NULL GENERATED ALWAYS AS (lower(entry::jsonb ->> 'action')) STORED,
    -- To the microsecond, also where the entry leaves naughts out: as text it sorts as time does.
    created_key text COLLATE "C" NOT NULL GENERATED ALWAYS AS (left(rtrim(entry::jsonb ->> 'createdDate', 'Z') || '.000000', 26)) STORED,
    caller_id uuid GENERATED ALWAYS AS ((entry::jsonb #>> '{caller,id}')::uuid) STORED,
    entity_id uuid NOT NULL GENERATED ALWAYS AS ((entry::jsonb #>> '{entity,id}')::uuid) STORED,
    list_key  text COLLATE "C" GENERATED ALWAYS AS (lpad(number::text, 18, '0')) STORED
);
CREATE INDEX ON audit_events (entity_id, list_key);
CREATE INDEX ON audit_events (caller_id, list_key);
CREATE INDEX ON audit_events (action_key, list_key);
CREATE INDEX ON audit_events (created_key, number);
CALL keep_list('audit_events');

-- The end of each chain: its last entry, and how many it has.
CREATE TABLE audit_heads (
    chain  int PRIMARY KEY,
    number bigint NOT NULL,
    count  bigint NOT NULL,
    hash   bytea NOT NULL
) WITH (fillfactor = 20);

-- A row while a transaction has notes: its deferred trigger is what runs at the end. Never seen by anyone else.
CREATE UNLOGGED TABLE audit_pending (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY
);

-- Notes are kept in a setting of the transaction: no rows, nothing to clean up, and a rollback takes its own along.
CREATE FUNCTION note_changes(notes text) RETURNS void LANGUAGE plpgsql AS $$
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

-- Whether this transaction is an import: its own entry stands for all its rows.
CREATE FUNCTION is_bulk_change() RETURNS boolean STABLE LANGUAGE sql RETURN
    coalesce((nullif(current_setting('rolecall.author', true), '')::jsonb ->> 'bulk')::boolean, false);

-- Note what statements do to a table. `kind`, `id`, `part` and `value` are SQL over a row `r`: what thing it belongs to, which part of it the
-- row is ('' for the thing itself), and what of it is worth an entry. Never a secret, nor the digest of one.
CREATE PROCEDURE keep_audit(source regclass, kind text, id text, value text, part text DEFAULT '''''') LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format($sql$
        CREATE FUNCTION note_%1$s() RETURNS trigger LANGUAGE plpgsql AS $note$
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
        CREATE TRIGGER note_insert AFTER INSERT ON %1$s REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION note_%1$s();
        CREATE TRIGGER note_delete AFTER DELETE ON %1$s REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION note_%1$s();
        CREATE TRIGGER note_update AFTER UPDATE ON %1$s REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
            FOR EACH STATEMENT EXECUTE FUNCTION note_%1$s();
    $sql$, source, kind, id, part, value);
END $$;

CREATE FUNCTION camel(name text) RETURNS text IMMUTABLE LANGUAGE sql RETURN
    CASE WHEN strpos(name, '_') = 0 THEN name ELSE left(name, 1) || substr(replace(initcap(replace(name, '_', ' ')), ' ', ''), 2) END;

-- From notes to changes: what each thing was before the first of its notes and what it is after the last, in the fields that differ.
-- Of what is new or gone, what is empty goes without saying.
CREATE FUNCTION changes_in(notes jsonb) RETURNS TABLE (kind text, id uuid, before jsonb, after jsonb) STABLE LANGUAGE sql BEGIN ATOMIC
    WITH noted AS (
        SELECT e.n, e.note ->> 'kind' AS kind, e.note ->> 'id' AS id, e.note ->> 'part' AS part, e.note -> 'was' AS was, e.note -> 'is' AS "is"
        FROM jsonb_array_elements(notes) WITH ORDINALITY AS e (note, n)
    ), parts AS (
        SELECT d.kind, d.id, d.part, min(d.n) AS n, (array_agg(d.was ORDER BY d.n))[1] AS was, (array_agg(d."is" ORDER BY d.n))[count(*)] AS "is"
        FROM noted d GROUP BY d.kind, d.id, d.part
    ), sides AS (
        SELECT p.kind, p.id, p.part, p.n, s.is_before, jsonb_object_agg(camel(f.key), f.value) AS fields
        FROM parts p CROSS JOIN LATERAL (VALUES (true, p.was, p."is"), (false, p."is", p.was)) AS s (is_before, one, other)
        CROSS JOIN LATERAL jsonb_each(s.one) AS f
        WHERE f.value <> coalesce(s.other -> f.key, 'null') AND (s.other IS NOT NULL OR f.value NOT IN ('""', '{}', '[]'))
        GROUP BY p.kind, p.id, p.part, p.n, s.is_before
    ), whole AS (
        SELECT s.kind, s.id, s.is_before, min(s.n) AS n,
               coalesce((array_agg(s.fields) FILTER (WHERE s.part = ''))[1], '{}')
               || coalesce(jsonb_object_agg(s.part, s.fields) FILTER (WHERE s.part <> ''), '{}') AS fields
        FROM sides s GROUP BY s.kind, s.id, s.is_before
    )
    SELECT w.kind, w.id::uuid, (array_agg(w.fields) FILTER (WHERE w.is_before))[1], (array_agg(w.fields) FILTER (WHERE NOT w.is_before))[1]
    FROM whole w GROUP BY w.kind, w.id ORDER BY min(w.n);
END;

CREATE FUNCTION name_of(kind text, the_id uuid) RETURNS text STABLE LANGUAGE plpgsql AS $$
BEGIN
    -- A statement for each: of one expression with them all, every part would be made ready.
    CASE kind
        WHEN 'Access Model' THEN RETURN (SELECT name FROM access_models WHERE id = the_id);
        WHEN 'Access Request' THEN RETURN (SELECT '#' || number FROM access_requests WHERE id = the_id);
        WHEN 'Account' THEN RETURN (SELECT username FROM accounts WHERE id = the_id);
        WHEN 'Application' THEN RETURN (SELECT name FROM applications WHERE id = the_id);
        WHEN 'Console User', 'Identity' THEN RETURN (SELECT concat_ws(' ', first_name, last_name) FROM identities WHERE id = the_id);
        WHEN 'Import' THEN RETURN (SELECT '#' || number FROM application_imports WHERE id = the_id);
        WHEN 'Personnel Event' THEN RETURN (SELECT '#' || number FROM personnel_events WHERE id = the_id);
        WHEN 'Token' THEN RETURN (SELECT name FROM tokens WHERE id = the_id);
        WHEN 'Webhook' THEN RETURN (SELECT name FROM webhooks WHERE id = the_id);
        WHEN 'Webhook Delivery' THEN RETURN (SELECT event FROM webhook_deliveries WHERE id = the_id);
        ELSE RETURN '';
    END CASE;
END $$;

-- The first chain that nobody is writing to; when all are taken, whoever comes waits for one of them.
CREATE FUNCTION take_chain() RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    chains CONSTANT int := 16;
    chain int;
BEGIN
    FOR chain IN 1 .. chains LOOP
        IF pg_try_advisory_xact_lock(hashtext('audit chain'), chain) THEN
            RETURN chain;
        END IF;
    END LOOP;
    chain := 1 + floor(random() * chains);
    PERFORM pg_advisory_xact_lock(hashtext('audit chain'), chain);
    RETURN chain;
END $$;

-- A link: over the hash before it, the entry's number and the digest of its text.
CREATE FUNCTION audit_hash(previous bytea, number bigint, entry text) RETURNS bytea IMMUTABLE LANGUAGE sql RETURN
    sha256(convert_to(encode(previous, 'hex') || ' ' || number || ' ' || encode(sha256(convert_to(entry, 'UTF8')), 'hex'), 'UTF8'));

CREATE FUNCTION chain_notes() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    -- Whoever writes past the program is known by the name they have in the database.
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
    the_entry text;
    the_number bigint;
    link bytea;
BEGIN
    PERFORM set_config('rolecall.notes', '', true);
    IF cardinality(entries) = 0 THEN
        RETURN;
    END IF;
    -- From here to the end of the commit nobody else writes to this chain: as late as can be.
    the_chain := take_chain();
    link := coalesce((SELECT hash FROM audit_heads WHERE chain = the_chain), decode(repeat('00', 32), 'hex'));
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
CREATE FUNCTION chain_changes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM audit_pending WHERE number = NEW.number;
    PERFORM chain_notes();
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER chain_changes AFTER INSERT ON audit_pending DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION chain_changes();

CALL keep_audit('access_models', '''Access Model''', 'r.id', $$to_jsonb(r) - '{id,name_key,changed_at,name}'::text[]$$);
CALL keep_audit('access_requests', '''Access Request''', 'r.id', $$to_jsonb(r) - '{id,list_key,status_since}'::text[]$$);
CALL keep_audit('privileges', '''Access Request''', 'r.request_id', $$to_jsonb(r) - '{request_id,position}'::text[]$$, $$'privileges.' || r.position$$);
CALL keep_audit('responses', '''Access Request''', 'r.request_id', $$to_jsonb(r) - '{request_id,type,rule,position}'::text[]$$,
                $$concat_ws('.', 'responses', r.type, r.rule, r.position)$$);
CALL keep_audit('related_items', '''Access Request''', 'r.request_id', $$jsonb_build_object('kind', r.kind, 'number', r.number, 'stage', r.stage)$$,
                $$'relatedItems.' || r.item_id$$);
CALL keep_audit('comments', $$CASE WHEN EXISTS (SELECT FROM access_requests a WHERE a.id = r.item_id) THEN 'Access Request' ELSE 'Personnel Event' END$$,
                'r.item_id', $$jsonb_build_object('author', r.author, 'content', r.content)$$, $$'comments.' || r.number$$);
CALL keep_audit('personnel_events', '''Personnel Event''', 'r.id', $$to_jsonb(r) - '{id,list_key}'::text[]$$);
CALL keep_audit('stages', '''Personnel Event''', 'r.event_id', $$to_jsonb(r) - '{event_id,sequence}'::text[]$$, $$'stages.' || r.sequence$$);
CALL keep_audit('identities', '''Identity''', 'r.id', $$to_jsonb(r) - '{id,last_name_key,first_name_key,list_key}'::text[]$$);
CALL keep_audit('applications', '''Application''', 'r.id', $$to_jsonb(r) - '{id,name_key,list_key}'::text[]$$);
CALL keep_audit('connectors', '''Application''', 'r.application_id', $$to_jsonb(r) - '{id,application_id}'::text[]$$, $$'connector'$$);
-- A connector that goes takes its file groups along, and then has no application to name.
CALL keep_audit('file_groups', '''Application''', '(SELECT c.application_id FROM connectors c WHERE c.id = r.connector_id)',
                $$to_jsonb(r) - '{id,connector_id,name}'::text[]$$, $$'fileGroups.' || r.name$$);
CALL keep_audit('schedules', '''Application''', 'r.application_id', $$to_jsonb(r) - '{application_id}'::text[]$$, $$'schedule'$$);
CALL keep_audit('application_imports', '''Import''', 'r.id', $$to_jsonb(r) - '{id,list_key}'::text[]$$);
CALL keep_audit('import_runs', '''Import''', 'r.import_id',
                $$jsonb_build_object('held', r.held, 'isUnguarded', nullif(r.is_unguarded, false), 'rollbackTo', r.rollback_to, 'totals', r.totals)$$, $$'run'$$);
CALL keep_audit('import_files', '''Import''', 'r.import_id',
                $$jsonb_build_object('fileGroup', r.file_group, 'name', r.name, 'sha256', encode(r.sha256, 'hex'), 'size', r.size)$$, $$'files.' || r.position$$);
CALL keep_audit('settings', '''Settings''', $$'00000000-0000-0000-0000-000000000000'::uuid$$, 'jsonb_build_object(''value'', r.value)', 'camel(r.name)');
CALL keep_audit('tokens', '''Token''', 'r.id', $$to_jsonb(r) - '{id,public_id,secret_sha256,last_used_at}'::text[]$$);
CALL keep_audit('webhooks', '''Webhook''', 'r.id', $$to_jsonb(r) - '{id,secret,previous_secret,failures,failing_since}'::text[]$$);
CALL keep_audit('webhook_callbacks', '''Webhook Delivery''', 'r.delivery_id', $$jsonb_build_object('content', r.content)$$, $$'callbacks.' || r.number$$);
CALL keep_audit('console_roles', '''Console User''', 'r.identity_id', $$jsonb_build_object('role', r.role, 'email', r.email)$$);
CALL keep_audit('console_passwords', '''Console User''', 'r.identity_id', $$jsonb_build_object('setAt', r.set_at)$$, $$'password'$$);
CALL keep_audit('console_sessions', '''Console User''', 'r.identity_id', $$jsonb_build_object('createdAt', r.created_at)$$, $$'session'$$);
CALL keep_audit('sign_in_links', '''Console User''', 'r.identity_id', $$jsonb_build_object('expiresAt', r.expires_at, 'usedAt', r.used_at)$$, $$'signInLink'$$);

-- Of accounts only what a person says is noted; what matching finds follows from imports and identities.
CREATE FUNCTION note_pin() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM note_changes((SELECT string_agg(note::text, ',') FROM (VALUES
        (jsonb_build_object('kind', 'Account', 'id', OLD.id, 'part', '', 'was', jsonb_build_object('pin', OLD.pin, 'identityId', OLD.identity_id))),
        (jsonb_build_object('kind', 'Account', 'id', NEW.id, 'part', '', 'is', jsonb_build_object('pin', NEW.pin, 'identityId', NEW.identity_id)))
    ) AS notes (note)));
    RETURN NULL;
END $$;
CREATE TRIGGER note_pin AFTER UPDATE ON accounts FOR EACH ROW
    WHEN (OLD.pin IS DISTINCT FROM NEW.pin OR NEW.pin IS NOT NULL AND OLD.identity_id IS DISTINCT FROM NEW.identity_id)
    EXECUTE FUNCTION note_pin();
