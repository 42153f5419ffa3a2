-- The audit chain (docs/decisions/0044 and 0045): every change of a governed table becomes an entry of a hash chain.
--
-- Any INSERT, UPDATE or DELETE on a governed table fires `note_insert`, `note_update` or `note_delete`, which note each row before and
-- after the change. The first note of a transaction inserts into audit_pending. Its deferred trigger `chain_changes` runs at COMMIT: it
-- turns the notes into one entry for each record that changed, and appends them to a chain. Writing the chain's head fires
-- `keep_checkpoint`. core/authors.py sets the author. A package's schema file calls `keep_audit` for its tables.

-- Add notes to the earlier notes of this transaction. They are kept in a setting that is local to the transaction, so that no rows must be
-- cleaned up and a rollback discards them.
CREATE OR REPLACE FUNCTION note_changes(notes text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    noted text := coalesce(current_setting('rolecall.notes', true), '');
BEGIN
    IF notes IS NULL THEN
        RETURN;
    END IF;
    -- Chain the notes of a very large transaction in parts, so that the setting stays small.
    IF length(noted) > 32 * 1024 * 1024 THEN
        PERFORM chain_notes();
        noted := '';
    END IF;
    IF noted = '' THEN
        -- A transaction that was chained in parts has its row already.
        INSERT INTO audit_pending DEFAULT VALUES ON CONFLICT DO NOTHING;
    END IF;
    PERFORM set_config('rolecall.notes', concat_ws(',', nullif(noted, ''), notes), true);
END $$;

-- Return whether this transaction writes the rows of an import. Then the import is audited, but not the identities that it writes.
CREATE OR REPLACE FUNCTION is_bulk_change() RETURNS boolean STABLE LANGUAGE sql RETURN
    coalesce((nullif(current_setting('rolecall.author', true), '')::jsonb ->> 'bulk')::boolean, false);

-- Create the triggers that note what statements do to a table. `kind`, `id`, `part` and `value` are SQL over a row `r`: the kind and id of
-- the record that the row belongs to, which part of that record the row is ('' for the record itself), and the value to store. Never store a
-- secret or its digest.
CREATE OR REPLACE PROCEDURE keep_audit(source regclass, kind text, id text, value text, part text DEFAULT '''''') LANGUAGE plpgsql AS $$
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
                -- EXCEPT instead of a join: a cached plan for few rows would make a join of many rows quadratic.
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
END $$;

-- Return the name of a column as the API spells it: created_at becomes createdAt.
CREATE OR REPLACE FUNCTION camel(name text) RETURNS text IMMUTABLE LANGUAGE sql RETURN
    CASE WHEN strpos(name, '_') = 0 THEN name ELSE left(name, 1) || substr(replace(initcap(replace(name, '_', ' ')), ' ', ''), 2) END;

-- Turn notes into changes: for each record, the fields that differ between its first and its last note. Empty fields of a record that was
-- created or deleted are omitted.
CREATE OR REPLACE FUNCTION changes_in(notes jsonb) RETURNS TABLE (kind text, id uuid, before jsonb, after jsonb) STABLE LANGUAGE sql BEGIN ATOMIC
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

-- Return the display name of a record, for its audit entry.
CREATE OR REPLACE FUNCTION name_of(kind text, the_id uuid) RETURNS text STABLE LANGUAGE plpgsql AS $$
BEGIN
    -- One statement for each kind, because PostgreSQL would prepare all parts of a single expression.
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

-- Lock the first chain to which no other transaction writes; if all are locked, wait for one of them. The setting `rolecall.chain` tells
-- keep_checkpoint which chain this transaction writes.
CREATE OR REPLACE FUNCTION take_chain() RETURNS int LANGUAGE plpgsql AS $$
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

-- Return the hash of an entry, computed from the previous hash, the number of the entry and the digest of its text.
CREATE OR REPLACE FUNCTION audit_hash(previous bytea, number bigint, entry text) RETURNS bytea IMMUTABLE LANGUAGE sql RETURN
    sha256(convert_to(encode(previous, 'hex') || ' ' || number || ' ' || encode(sha256(convert_to(entry, 'UTF8')), 'hex'), 'UTF8'));

-- If entries are older than the last entry of their chain, give them its time: a transaction that waited for the chain has an earlier time
-- than the entries that were chained meanwhile. All of these entries have the same author, and so the same time.
CREATE OR REPLACE FUNCTION in_order_of_time(entries text[], last_number bigint) RETURNS text[] STABLE LANGUAGE plpgsql AS $$
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

-- Turn this transaction's notes into entries and append them to a chain.
CREATE OR REPLACE FUNCTION chain_notes() RETURNS void LANGUAGE plpgsql AS $$
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
    -- Lock as late as possible: the chain stays locked until the transaction ends.
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

-- Update the checkpoint of a chain (docs/decisions/0089) when its head changes, but only while entries are being chained, so that a head
-- that is changed by hand contradicts its checkpoint. A checkpoint that already contradicts the heads is not updated, so that later entries
-- do not hide tampering.
CREATE OR REPLACE FUNCTION keep_checkpoint() RETURNS trigger LANGUAGE plpgsql AS $$
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
CREATE OR REPLACE TRIGGER keep_checkpoint AFTER INSERT OR UPDATE ON audit_heads FOR EACH ROW EXECUTE FUNCTION keep_checkpoint();

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
