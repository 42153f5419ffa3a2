-- The entries of a chain are in the order of their times: a transaction that waited carries an earlier time than the entry that was chained meanwhile.

-- Give entries that are older than the last one of their chain its time. All have the same author, and so the same time.
CREATE FUNCTION in_order_of_time(entries text[], last_number bigint) RETURNS text[] STABLE LANGUAGE plpgsql AS $$
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

CREATE OR REPLACE FUNCTION chain_notes() RETURNS void LANGUAGE plpgsql AS $$
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
    head record;
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
