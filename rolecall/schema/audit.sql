-- The audit chains (docs/decisions/0044 and 0045): changes to audited tables become entries of hash chains.
--
-- Any INSERT, UPDATE or DELETE on an audited table fires `note_insert`, `note_update` or `note_delete`, which note each row before and
-- after the change. The first note of a transaction inserts into audit_pending. Its deferred trigger `chain_changes` runs at COMMIT: it
-- turns the notes into one entry for each record that changed, and appends them to a chain. core/authors.py sets the author. A package's
-- schema file calls `keep_audit` for its tables.

-- Add notes to the earlier notes of this transaction, and return all of them. They are kept in a setting that is local to the transaction,
-- so that no rows need to be cleaned up and a rollback discards them.
CREATE OR REPLACE FUNCTION with_notes(noted text, notes text) RETURNS text LANGUAGE sql RETURN
    set_config('rolecall.notes', concat_ws(',', nullif(noted, ''), notes), true);

-- Return whether keep_notes must be called: for the first notes of a transaction, and when there are so many that they must be chained in parts.
CREATE OR REPLACE FUNCTION must_keep_notes(noted text, notes text) RETURNS boolean IMMUTABLE LANGUAGE sql RETURN
    notes <> '' AND (coalesce(noted, '') = '' OR length(notes) > 32 * 1024 * 1024);

-- Queue the notes, which are chained at COMMIT. If they are very long, chain them now, so that the setting rolecall.notes stays small.
CREATE OR REPLACE FUNCTION keep_notes(notes text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    -- The row exists already if the transaction has chained some of its notes.
    INSERT INTO audit_pending DEFAULT VALUES ON CONFLICT DO NOTHING;
    IF length(notes) > 32 * 1024 * 1024 THEN
        PERFORM chain_notes();
    END IF;
END $$;

-- Add notes of changes that the triggers of keep_audit do not note, such as pins of accounts.
CREATE OR REPLACE FUNCTION note_changes(notes text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    noted text := current_setting('rolecall.notes', true);
BEGIN
    notes := with_notes(noted, notes);
    IF must_keep_notes(noted, notes) THEN
        PERFORM keep_notes(notes);
    END IF;
END $$;

-- Return whether this transaction writes the rows of an import. If so, the import is audited, but not the identities that it writes.
CREATE OR REPLACE FUNCTION is_bulk_change() RETURNS boolean STABLE LANGUAGE sql RETURN
    coalesce((nullif(current_setting('rolecall.author', true), '')::jsonb ->> 'bulk')::boolean, false);

-- Return the name of a column as the API spells it: created_at becomes createdAt.
CREATE OR REPLACE FUNCTION camel(name text) RETURNS text IMMUTABLE LANGUAGE sql RETURN
    CASE WHEN strpos(name, '_') = 0 THEN name ELSE left(name, 1) || substr(replace(initcap(replace(name, '_', ' ')), ' ', ''), 2) END;

-- Return SQL for the fields of a new row `r` as they appear in an entry, as jsonb: names as the API spells them, empty fields omitted. Return
-- NULL if `value` does not have the form `to_jsonb(r) - …`: then the fields are computed when the notes are chained.
CREATE OR REPLACE FUNCTION fields_of_new(source regclass, value text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    recorded text[];
BEGIN
    IF value NOT LIKE 'to\_jsonb(r) - %' THEN
        RETURN NULL;
    END IF;
    EXECUTE format('SELECT ARRAY(SELECT jsonb_object_keys(%s)) FROM (SELECT (NULL::%s).*) AS r', value, source) INTO recorded;
    -- jsonb columns are added one by one, because jsonb_strip_nulls also removes the nulls inside them.
    RETURN (
        SELECT format('jsonb_strip_nulls(jsonb_build_object(%s))', string_agg(format('%L, %s', camel(a.attname), CASE
                   WHEN t.typcategory = 'S' THEN format('nullif(r.%I, '''')', a.attname)
                   WHEN t.typcategory = 'A' THEN format('nullif(r.%I, ''{}'')', a.attname)
                   ELSE format('r.%I', a.attname) END), ', ' ORDER BY a.attnum) FILTER (WHERE t.typname <> 'jsonb'))
               || coalesce(string_agg(format(
                   $sql$ || CASE WHEN r.%1$I NOT IN ('null', '""', '{}', '[]') THEN jsonb_build_object(%2$L, r.%1$I) ELSE '{}' END$sql$,
                   a.attname, camel(a.attname)), '' ORDER BY a.attnum) FILTER (WHERE t.typname = 'jsonb'), '')
        FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
        WHERE a.attrelid = source AND a.attname = ANY (recorded));
END $$;

-- Create the triggers that note what statements do to a table. `kind`, `id`, `part` and `value` are SQL over a row `r`: the kind and id of
-- the record that the row belongs to, which part of that record the row is ('' for the record itself), and the value to store. The value must
-- not contain a secret or its digest. A note has the row before the change as `was` and after it as `is`. The note of a new row has the
-- finished fields as `made` instead, which saves most of the work at COMMIT. But if the transaction has already updated or deleted rows, the
-- note has `is`, because the new row may replace a deleted one and is then compared with it.
-- `name` is the name of the record, if the row is the record itself: name_of returns the same, but needs a query for each record at COMMIT.
-- Drop the procedure without `name` first: with both, calls would be ambiguous.
DROP PROCEDURE IF EXISTS keep_audit(regclass, text, text, text, text);
CREATE OR REPLACE PROCEDURE keep_audit(source regclass, kind text, id text, value text, part text DEFAULT '''''', name text DEFAULT NULL) LANGUAGE plpgsql AS $$
DECLARE
    fields text := fields_of_new(source, value);
    note text := format($sql$jsonb_build_object('kind', %s, 'id', %s, 'part', %s$sql$, kind, id, part);
    was text := format($sql$%s, 'was', %s)$sql$, note, value);
    "is" text := format($sql$%s, 'is', %s)$sql$, note, value);
    made text := CASE WHEN fields IS NULL THEN "is" ELSE format($sql$%s%s, 'made', %s)$sql$, note, $sql$, 'name', $sql$ || name, fields) END;
BEGIN
    EXECUTE format($sql$
        CREATE OR REPLACE FUNCTION note_%1$s() RETURNS trigger LANGUAGE plpgsql AS $note$
        DECLARE
            noted text := current_setting('rolecall.notes', true);
            notes text;
        BEGIN
            %6$s
            IF TG_OP = 'INSERT' AND coalesce(strpos(noted, '"was"'), 0) = 0 THEN
                SELECT with_notes(noted, string_agg(%3$s::text, ',')) INTO notes FROM new_rows r WHERE %2$s IS NOT NULL;
            ELSIF TG_OP = 'INSERT' THEN
                SELECT with_notes(noted, string_agg(%4$s::text, ',')) INTO notes FROM new_rows r WHERE %2$s IS NOT NULL;
            ELSIF TG_OP = 'DELETE' THEN
                SELECT with_notes(noted, string_agg(%5$s::text, ',')) INTO notes FROM old_rows r WHERE %2$s IS NOT NULL;
            ELSE
                -- Use EXCEPT instead of a join: with a cached plan for few rows, a join of many rows would take quadratic time.
                SELECT with_notes(noted, string_agg(n.note::text, ',')) INTO notes FROM (
                    (SELECT %5$s FROM old_rows r EXCEPT SELECT %5$s FROM new_rows r)
                    UNION ALL (SELECT %4$s FROM new_rows r EXCEPT SELECT %4$s FROM old_rows r)) AS n (note);
            END IF;
            IF must_keep_notes(noted, notes) THEN
                PERFORM keep_notes(notes);
            END IF;
            RETURN NULL;
        END $note$;
        CREATE OR REPLACE TRIGGER note_insert AFTER INSERT ON %1$s REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION note_%1$s();
        CREATE OR REPLACE TRIGGER note_delete AFTER DELETE ON %1$s REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION note_%1$s();
        CREATE OR REPLACE TRIGGER note_update AFTER UPDATE ON %1$s REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
            FOR EACH STATEMENT EXECUTE FUNCTION note_%1$s();
    $sql$, source, id, made, "is", was,
        CASE WHEN source = 'identities'::regclass THEN 'IF is_bulk_change() THEN RETURN NULL; END IF;' END);
END $$;

-- Return the fields of `one` that differ from those of `other`, with names as the API spells them; NULL if there are none. If `other` is
-- NULL, because the record was created or deleted, empty fields are omitted.
CREATE OR REPLACE FUNCTION fields_that_differ(one jsonb, other jsonb) RETURNS jsonb IMMUTABLE LANGUAGE sql BEGIN ATOMIC
    SELECT jsonb_object_agg(camel(f.key), f.value) FROM jsonb_each(one) AS f
    WHERE f.value <> coalesce(other -> f.key, 'null') AND (other IS NOT NULL OR f.value NOT IN ('""', '{}', '[]'));
END;

-- Turn notes into changes: for each record, the fields that differ between its first and its last note.
CREATE OR REPLACE FUNCTION changes_in(notes jsonb) RETURNS TABLE (kind text, id uuid, before jsonb, after jsonb) STABLE LANGUAGE sql BEGIN ATOMIC
    WITH noted AS (
        SELECT e.note ->> 'kind' AS kind, e.note ->> 'id' AS id, e.note ->> 'part' AS part, min(e.n) AS n,
               (array_agg(e.note -> 'was' ORDER BY e.n))[1] AS was, (array_agg(e.note ORDER BY e.n))[count(*)] AS last
        FROM jsonb_array_elements(notes) WITH ORDINALITY AS e (note, n) GROUP BY 1, 2, 3
    ), parts AS (
        SELECT d.kind, d.id, d.part, d.n, CASE WHEN d.was IS NOT NULL THEN fields_that_differ(d.was, d.last -> 'is') END AS before,
               CASE WHEN d.last ? 'made' THEN nullif(d.last -> 'made', '{}')
                    WHEN d.last ? 'is' THEN fields_that_differ(d.last -> 'is', d.was) END AS after
        FROM noted d OFFSET 0
    )
    SELECT p.kind, p.id::uuid,
           nullif(coalesce((array_agg(p.before) FILTER (WHERE p.part = ''))[1], '{}')
                  || coalesce(jsonb_object_agg(p.part, p.before) FILTER (WHERE p.part <> '' AND p.before IS NOT NULL), '{}'), '{}'),
           nullif(coalesce((array_agg(p.after) FILTER (WHERE p.part = ''))[1], '{}')
                  || coalesce(jsonb_object_agg(p.part, p.after) FILTER (WHERE p.part <> '' AND p.after IS NOT NULL), '{}'), '{}')
    FROM parts p WHERE p.before IS NOT NULL OR p.after IS NOT NULL GROUP BY p.kind, p.id ORDER BY min(p.n);
END;

-- Return the display name of a record, for its audit entry.
CREATE OR REPLACE FUNCTION name_of(kind text, the_id uuid) RETURNS text STABLE LANGUAGE plpgsql AS $$
BEGIN
    -- Use one statement for each kind: PostgreSQL would prepare the queries of all kinds if they were one expression.
    CASE kind
        WHEN 'Access Model' THEN RETURN (SELECT name FROM access_models WHERE id = the_id);
        WHEN 'Access Request' THEN RETURN (SELECT '#' || number FROM access_requests WHERE id = the_id);
        WHEN 'Account' THEN RETURN (SELECT username FROM accounts WHERE id = the_id);
        WHEN 'Application' THEN RETURN (SELECT name FROM applications WHERE id = the_id);
        WHEN 'Connector Template' THEN RETURN (SELECT name FROM connector_templates WHERE id = the_id);
        WHEN 'Conflict' THEN RETURN (SELECT '#' || number FROM conflicts WHERE id = the_id);
        WHEN 'Console User', 'Identity' THEN RETURN (SELECT concat_ws(' ', first_name, last_name) FROM identities WHERE id = the_id);
        WHEN 'Duty' THEN RETURN (SELECT name FROM duties WHERE id = the_id);
        WHEN 'Duty Rule' THEN RETURN (SELECT name FROM duty_rules WHERE id = the_id);
        WHEN 'Export' THEN RETURN (SELECT list FROM exports WHERE id = the_id);
        WHEN 'Import' THEN RETURN (SELECT '#' || number FROM application_imports WHERE id = the_id);
        WHEN 'Personnel Event' THEN RETURN (SELECT '#' || number FROM personnel_events WHERE id = the_id);
        WHEN 'Report' THEN RETURN (SELECT name FROM reports WHERE id = the_id);
        WHEN 'Review' THEN RETURN (SELECT name FROM reviews WHERE id = the_id);
        WHEN 'Review Item' THEN RETURN (SELECT '#' || number FROM review_items WHERE id = the_id);
        WHEN 'Review Template' THEN RETURN (SELECT name FROM review_templates WHERE id = the_id);
        WHEN 'Token' THEN RETURN (SELECT name FROM tokens WHERE id = the_id);
        WHEN 'Webhook' THEN RETURN (SELECT name FROM webhooks WHERE id = the_id);
        WHEN 'Webhook Delivery' THEN RETURN (SELECT event FROM webhook_deliveries WHERE id = the_id);
        ELSE RETURN '';
    END CASE;
END $$;

-- Lock the first chain to which no other transaction writes; if all are locked, wait for one of them.
CREATE OR REPLACE FUNCTION take_chain() RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    chains CONSTANT int := audit_chains();
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

-- Return the hash of an entry, computed from the previous hash, the number of the entry and the digest of its text. It is only STABLE, because
-- convert_to is, and PostgreSQL does not inline a function that is declared less volatile than its body.
CREATE OR REPLACE FUNCTION audit_hash(previous bytea, number bigint, entry text) RETURNS bytea STABLE LANGUAGE sql RETURN
    sha256(convert_to(encode(previous, 'hex') || ' ' || number || ' ' || encode(sha256(convert_to(entry, 'UTF8')), 'hex'), 'UTF8'));

-- Filters use columns that repeat parts of an entry. In older databases, these columns are generated from the entry's text. Make them ordinary
-- columns, which `chain_notes` writes, because parsing the text for each column costs as much as the rest of the row; `audit verify` compares
-- them with the text. This is not a migration, so that it happens in the transaction that replaces `chain_notes`.
DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_attribute WHERE attrelid = 'audit_events'::regclass AND attname = 'entity_id' AND attgenerated <> '') THEN
        ALTER TABLE audit_events ALTER COLUMN action_key DROP EXPRESSION, ALTER COLUMN created_key DROP EXPRESSION,
            ALTER COLUMN caller_id DROP EXPRESSION, ALTER COLUMN entity_id DROP EXPRESSION;
    END IF;
END $$;

-- Return the changes of a transaction that only creates records, as changes_in does but at a lower cost, and the names of the records from
-- their notes. Every note must have finished fields (`made`).
CREATE OR REPLACE FUNCTION new_records_in(notes jsonb) RETURNS TABLE (kind text, id uuid, name text, after jsonb) STABLE LANGUAGE sql BEGIN ATOMIC
    SELECT r.kind, r.id::uuid, r.name, coalesce(r.parts -> '', '{}') || (r.parts - '') FROM (
        SELECT e.note ->> 'kind' AS kind, e.note ->> 'id' AS id, max(e.note ->> 'name') AS name, min(e.n) AS n,
               jsonb_object_agg(e.note ->> 'part', e.note -> 'made') AS parts
        FROM jsonb_array_elements(notes) WITH ORDINALITY AS e (note, n) WHERE e.note -> 'made' <> '{}' GROUP BY 1, 2
    ) AS r ORDER BY r.n;
END;

-- Turn this transaction's notes into entries and append them to a chain.
CREATE OR REPLACE FUNCTION chain_notes() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    notes jsonb := '[' || current_setting('rolecall.notes', true) || ']';
    signature text := current_setting('rolecall.author', true);
    author jsonb;
    -- The time with exactly six decimal places, so that times sort correctly as text.
    created_key text COLLATE "C";
    entries text[];
    ids uuid[];
    numbers bigint[];
    links bytea[];
    the_chain int;
    own int;
    few boolean;
    heads record;
    last_key text COLLATE "C";
    the_entry text;
    the_number bigint;
    link bytea;
BEGIN
    PERFORM set_config('rolecall.notes', '', true);
    IF signature <> '' THEN
        author := signature::jsonb - 'bulk';
    ELSE
        -- Writes that bypass the program are attributed to the database user.
        author := jsonb_build_object(
            'caller', jsonb_build_object('id', NULL, 'kind', 'Database', 'name', session_user), 'action', 'Change', 'correlationId', NULL,
            'createdDate', to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'));
    END IF;
    IF notes @? '$[*] ? (!exists (@.made))' THEN
        SELECT array_agg((author || jsonb_build_object('entity', jsonb_build_object('id', c.id, 'kind', c.kind, 'name', name_of(c.kind, c.id)),
                                                       'before', c.before, 'after', c.after))::text), array_agg(c.id)
        INTO entries, ids FROM changes_in(notes) AS c;
    ELSE
        SELECT array_agg((author || jsonb_build_object('entity', jsonb_build_object('id', c.id, 'kind', c.kind, 'name', coalesce(c.name, name_of(c.kind, c.id))),
                                                       'before', NULL, 'after', c.after))::text), array_agg(c.id)
        INTO entries, ids FROM new_records_in(notes) AS c;
    END IF;
    IF entries IS NULL THEN
        RETURN;
    END IF;
    -- Lock as late as possible: the chain stays locked until the transaction ends.
    the_chain := take_chain();
    -- Read all heads, and count those with which the checkpoint of this chain agrees.
    SELECT coalesce(array_agg(h.chain), '{}') AS chains, coalesce(array_agg(h.number), '{}') AS numbers, coalesce(array_agg(h.hash), '{}') AS hashes,
           count(*) FILTER (WHERE h.number > c.numbers[array_position(c.chains, h.chain)]
                               OR h.number = c.numbers[array_position(c.chains, h.chain)] AND h.hash = c.hashes[array_position(c.chains, h.chain)]) AS agreeing
    INTO heads FROM audit_heads h LEFT JOIN audit_checkpoints c ON c.chain = the_chain;
    own := coalesce(array_position(heads.chains, the_chain), cardinality(heads.chains) + 1);
    -- If this transaction waited for the chain, its time may be earlier than that of the last entry. Then use the time of the last entry.
    created_key := left(rtrim(author ->> 'createdDate', 'Z') || '.000000', 26);
    last_key := (SELECT e.created_key FROM audit_events e WHERE e.number = heads.numbers[own]);
    IF created_key < last_key THEN
        entries := ARRAY(SELECT (e.entry::jsonb || jsonb_build_object('createdDate', l.entry::jsonb -> 'createdDate'))::text
                         FROM unnest(entries) WITH ORDINALITY AS e (entry, n), audit_events l WHERE l.number = heads.numbers[own] ORDER BY e.n);
        created_key := last_key;
    END IF;
    link := coalesce(heads.hashes[own], decode(repeat('00', 32), 'hex'));
    links := ARRAY[link];
    FOREACH the_entry IN ARRAY entries LOOP
        the_number := nextval('audit_events_number_seq');
        link := audit_hash(link, the_number, the_entry);
        numbers := numbers || the_number;
        links := links || link;
    END LOOP;
    -- Use one statement for all four tables, because it runs with every write. For few entries, this statement also appends the changes of the
    -- list, because the trigger of `keep_list` would cost as much as the entries. For many, the trigger appends them or counts the list again.
    few := cardinality(numbers) <= 2 * list_stride();
    PERFORM set_config('rolecall.lists_itself', few::text, true);
    WITH written AS (
        INSERT INTO audit_events (number, chain, entry, previous, hash, action_key, created_key, caller_id, entity_id) OVERRIDING SYSTEM VALUE
        SELECT e.number, the_chain, e.entry, e.previous, e.hash, lower(author ->> 'action'), created_key, (author #>> '{caller,id}')::uuid, e.id
        FROM unnest(numbers, entries, links[:cardinality(entries)], links[2:], ids) AS e (number, entry, previous, hash, id)
    ), listed AS (
        INSERT INTO list_changes (list, key, facets, rows) SELECT 'audit_events', lpad(n::text, 18, '0'), '{}', 1 FROM unnest(numbers) AS n WHERE few
    ), ended AS (
        INSERT INTO audit_heads AS h (chain, number, count, hash) VALUES (the_chain, the_number, cardinality(entries), link)
        ON CONFLICT (chain) DO UPDATE SET number = EXCLUDED.number, count = h.count + EXCLUDED.count, hash = EXCLUDED.hash
    )
    -- Do not update a checkpoint that contradicts the heads, because that would hide tampering (docs/decisions/0089).
    UPDATE audit_checkpoints c
    SET chains = the_chain || array_remove(heads.chains, the_chain),
        numbers = the_number || heads.numbers[:own - 1] || heads.numbers[own + 1:],
        hashes = link || heads.hashes[:own - 1] || heads.hashes[own + 1:]
    WHERE c.chain = the_chain AND c.hashes[array_position(c.chains, the_chain)] IS NOT DISTINCT FROM heads.hashes[own]
      AND cardinality(c.chains) = heads.agreeing;
    PERFORM set_config('rolecall.lists_itself', '', true);
    IF few AND currval('list_changes_number_seq') % list_patience() < cardinality(numbers) THEN
        PERFORM fold_lists();
    END IF;
END $$;

-- Chain the notes of a transaction when it commits.
CREATE OR REPLACE FUNCTION chain_changes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM audit_pending WHERE number = NEW.number;
    PERFORM chain_notes();
    RETURN NULL;
END $$;
-- A constraint trigger cannot be replaced, so it is dropped first.
DROP TRIGGER IF EXISTS chain_changes ON audit_pending;
CREATE CONSTRAINT TRIGGER chain_changes AFTER INSERT ON audit_pending DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION chain_changes();

CALL keep_list('audit_events');
-- Skip the trigger while `chain_notes` writes the list changes itself.
CREATE OR REPLACE TRIGGER keep_list_on_insert AFTER INSERT ON audit_events REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT
    WHEN (current_setting('rolecall.lists_itself', true) IS DISTINCT FROM 'true') EXECUTE FUNCTION keep_audit_events_on_insert();
