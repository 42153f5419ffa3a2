-- Functions that every package uses: the time of a transaction, and lists with exact totals (docs/lists.md).
--
-- Any INSERT, UPDATE, DELETE or TRUNCATE on a listed table fires a trigger `keep_list_on_…`. It appends the changes to list_changes, or counts
-- the list again after a bulk load; TRUNCATE empties the list. Every 256th change folds the pending changes of all lists into list_contents.
-- core/paging.py reads both tables; its `tidy_lists` folds what is still pending. A package's schema file calls `keep_list` for its tables.

-- Return the time to write in this transaction, from the program's clock: core/authors.py stores it in the setting `rolecall.author`.
CREATE OR REPLACE FUNCTION written_on() RETURNS timestamptz STABLE LANGUAGE sql RETURN
    coalesce((nullif(current_setting('rolecall.author', true), '')::jsonb ->> 'createdDate')::timestamptz, now());

-- list_stride: the number of rows between two stored keys of a list. list_patience: the number of changes after which a writer folds them.
CREATE OR REPLACE FUNCTION list_stride() RETURNS int IMMUTABLE LANGUAGE sql RETURN 1000;
CREATE OR REPLACE FUNCTION list_patience() RETURNS int IMMUTABLE LANGUAGE sql RETURN 256;

-- Return all subsets of these columns: the possible combinations of filters.
CREATE OR REPLACE FUNCTION subsets_of(columns text[]) RETURNS TABLE (subset text[]) IMMUTABLE LANGUAGE sql BEGIN ATOMIC
    SELECT coalesce((SELECT array_agg(name ORDER BY n) FROM unnest(columns) WITH ORDINALITY AS u (name, n)
                     WHERE chosen >> (n::int - 1) & 1 = 1), '{}')
    FROM generate_series(0, (1 << cardinality(columns)) - 1) AS chosen;
END;

-- Try to lock a list for folding. Return false while another transaction folds it, and in isolation levels other than read committed.
CREATE OR REPLACE FUNCTION take_list(list text) RETURNS boolean LANGUAGE sql BEGIN ATOMIC
    -- In the other isolation levels the snapshot may be older than the lock.
    SELECT current_setting('transaction_isolation') = 'read committed'
           AND pg_try_advisory_xact_lock(hashtext('list'), hashtext(list));
END;

-- Fold the pending changes of a list into list_contents, in one statement and therefore from one snapshot. Do nothing if take_list cannot
-- lock the list.
CREATE OR REPLACE FUNCTION fold_list(the_list text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    uneven jsonb[];
    the_facet jsonb;
    always text[] := (SELECT l.within FROM lists l WHERE l.name = the_list);
BEGIN
    IF NOT take_list(the_list) THEN
        RETURN;
    END IF;
    WITH gone AS (
        DELETE FROM list_changes c WHERE c.list = the_list RETURNING c.key, c.facets, c.rows
    ), net AS (
        SELECT g.key, g.facets, sum(g.rows) AS rows FROM gone g GROUP BY g.key, g.facets HAVING sum(g.rows) <> 0
    ), subsets AS MATERIALIZED (
        -- A row counts for every filter that finds it: all subsets of its facets.
        SELECT DISTINCT n.facets, n.facets - s.subset AS facet
        FROM (SELECT DISTINCT net.facets FROM net) n
        CROSS JOIN subsets_of(ARRAY(SELECT DISTINCT jsonb_object_keys(net.facets) FROM net)) s
        WHERE NOT coalesce(always, '{}') && s.subset
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

-- Add keys in gaps that are too wide, and delete keys that are too close together. A snapshot that is newer than that of the fold does no
-- harm, because changes that are not folded yet are subtracted from the positions counted in the table.
CREATE OR REPLACE FUNCTION respace_list(the_list text, the_facet jsonb) RETURNS void LANGUAGE plpgsql AS $$
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
END $$;

-- Rebuild the stored totals of a list from its table after a bulk load, in one statement and therefore from one snapshot. Count only the
-- rows that have the values in `part`, and only for filters that include all columns of `within`. If all of these rows have the same value
-- in a column, a filter on this value changes no total, so filters with and without it share one count.
CREATE OR REPLACE FUNCTION recount_list(the_list text, columns text[], within text[] DEFAULT '{}', part jsonb DEFAULT '{}') RETURNS void
LANGUAGE plpgsql AS $recount$
DECLARE
    others text[] := ARRAY(SELECT c FROM unnest(columns) AS c WHERE c <> ALL (within));
    listed text := the_list::regclass || ' WHERE list_key IS NOT NULL'
        || coalesce((SELECT string_agg(format(' AND %I = %L', key, value), '') FROM jsonb_each_text(part)), '');
    first_row text := format('SELECT * FROM %s LIMIT 1', listed);
    constants text := CASE WHEN others = '{}' THEN $$SELECT '{}'::jsonb AS facet$$ ELSE format(
        'SELECT jsonb_strip_nulls(jsonb_build_object(%s)) AS facet FROM (SELECT * FROM %s) AS l CROSS JOIN first_row f', (
        SELECT string_agg(format('%1$L, CASE WHEN bool_and(coalesce(l.%1$I = f.%1$I, false)) THEN (SELECT %1$I FROM first_row) END', c), ', ')
        FROM unnest(others) AS c), listed) END;
    counts text := (
        SELECT string_agg(format(
            'SELECT jsonb_build_object(%1$s) AS facet, max(n) AS total,
                    coalesce(array_agg(list_key ORDER BY n) FILTER (WHERE n > 1 AND n %% list_stride() = 1), ''{}'') AS keys,
                    coalesce(array_agg(n - 1 ORDER BY n) FILTER (WHERE n > 1 AND n %% list_stride() = 1), ''{}'') AS starts
             FROM (SELECT list_key%2$s, row_number() OVER (%3$s ORDER BY list_key) AS n FROM %4$s%5$s
                   AND (SELECT NOT facet ?| %7$L::text[] FROM constants)) AS places
             GROUP BY %6$s HAVING count(*) > 0',
            (SELECT string_agg(format('%L, %I', c, c), ', ') FROM unnest(s.subset) AS c),
            (SELECT string_agg(format(', %I', c), '') FROM unnest(s.subset) AS c),
            (SELECT 'PARTITION BY ' || string_agg(quote_ident(c), ', ') FROM unnest(s.subset) AS c),
            listed,
            (SELECT string_agg(format(' AND %I IS NOT NULL', c), '') FROM unnest(s.subset) AS c),
            coalesce((SELECT string_agg(quote_ident(c), ', ') FROM unnest(s.subset) AS c), '()'),
            s.subset
        ), ' UNION ALL ') FROM subsets_of(columns) AS s WHERE s.subset @> within);
BEGIN
    EXECUTE format($sql$
        WITH gone AS (
            DELETE FROM list_changes WHERE list = $1 AND facets @> $2
        ), first_row AS MATERIALIZED (%s), constants AS MATERIALIZED (%s), varying AS MATERIALIZED (%s), counted AS MATERIALIZED (
            SELECT v.facet || same.facet AS facet, v.total, v.keys, v.starts FROM varying v CROSS JOIN (
                SELECT coalesce(jsonb_object_agg(k.key, k.value) FILTER (WHERE k.key = ANY (s.subset)), '{}') AS facet
                FROM constants CROSS JOIN subsets_of(ARRAY(SELECT jsonb_object_keys(constants.facet))) AS s
                LEFT JOIN LATERAL jsonb_each(constants.facet) AS k ON true GROUP BY s.subset) AS same
        ), vanished AS (
            DELETE FROM list_contents WHERE list = $1 AND facet @> $2 AND NOT facet = ANY (SELECT facet FROM counted)
        )
        INSERT INTO list_contents (list, facet, total, keys, starts) SELECT $1, facet, total, keys, starts FROM counted
        ON CONFLICT (list, facet) DO UPDATE SET total = EXCLUDED.total, keys = EXCLUDED.keys, starts = EXCLUDED.starts
    $sql$, first_row, constants, counts) USING the_list, part;
END $recount$;

-- Fold every list that has changes.
CREATE OR REPLACE FUNCTION fold_lists() RETURNS void LANGUAGE sql BEGIN ATOMIC
    SELECT fold_list(list) FROM (SELECT DISTINCT list FROM list_changes) AS changed;
END;

-- Create the triggers that keep totals of a table with a `list_key`, for every combination of filters on `columns`. The indexes, one for
-- each combination, are in the table's migration. The table is counted only if the list is new or had other columns before.
CREATE OR REPLACE PROCEDURE keep_list(list regclass, VARIADIC columns text[] DEFAULT '{}') LANGUAGE plpgsql AS $$
BEGIN
    CALL keep_lists(list, '{}', VARIADIC columns);
END $$;

-- Keep one list for each value of the columns `within`, such as the items of each review. Every filter includes these columns, which never
-- change, and a bulk load counts only the lists that it fills.
CREATE OR REPLACE PROCEDURE keep_lists(list regclass, within text[], VARIADIC others text[] DEFAULT '{}') LANGUAGE plpgsql AS $$
DECLARE
    columns text[] := within || others;
    names text := (SELECT string_agg(quote_ident(c), ', ') FROM unnest('list_key'::text || columns) AS c);
    facets text := format('jsonb_strip_nulls(jsonb_build_object(%s))', (SELECT string_agg(format('%L, %I', c, c), ', ') FROM unnest(columns) AS c));
    part text := format('jsonb_build_object(%s)', (SELECT string_agg(format('%L, %I', c, c), ', ') FROM unnest(within) AS c));
    parts text := (SELECT ' GROUP BY ' || string_agg(quote_ident(c), ', ') FROM unnest(within) AS c);
    listed text := format('list_key IS NOT NULL AND %s <> ALL (counted)', part);
    transition record;
BEGIN
    FOR transition IN
        SELECT * FROM (VALUES
            ('insert', 'NEW TABLE AS new_rows', 'new_rows', format('%s, 1 FROM new_rows WHERE %s', facets, listed)),
            ('delete', 'OLD TABLE AS old_rows', 'old_rows', format('%s, -1 FROM old_rows WHERE %s', facets, listed)),
            ('update', 'NEW TABLE AS new_rows OLD TABLE AS old_rows', 'new_rows', format(
                '%1$s, sum(rows) FROM (SELECT %2$s, 1 AS rows FROM new_rows UNION ALL SELECT %2$s, -1 FROM old_rows) AS changes
                 WHERE %3$s GROUP BY %2$s HAVING sum(rows) <> 0', facets, names, listed))
        ) AS t (event, tables, touched, changes)
    LOOP
        EXECUTE format($sql$
            CREATE OR REPLACE FUNCTION keep_%1$s_on_%2$s() RETURNS trigger LANGUAGE plpgsql AS $keep$
            DECLARE
                touched bigint := (SELECT count(*) FROM %4$s);
                counted jsonb[] := '{}';
                part record;
            BEGIN
                IF touched > 2 * list_stride() THEN
                    FOR part IN SELECT %8$s AS facet, count(*) AS rows FROM %4$s%9$s LOOP
                        IF part.rows > 2 * list_stride() AND is_bulk(%1$L, part.facet, part.rows) AND take_list(%1$L) THEN
                            PERFORM recount_list(%1$L, %6$L, %7$L, part.facet);
                            counted := counted || part.facet;
                            touched := touched - part.rows;
                        END IF;
                    END LOOP;
                    IF touched = 0 THEN
                        RETURN NULL;
                    END IF;
                END IF;
                INSERT INTO list_changes (list, key, facets, rows) SELECT %1$L, list_key, %5$s;
                GET DIAGNOSTICS touched = ROW_COUNT;
                IF touched > 0 AND currval('list_changes_number_seq') %% list_patience() < touched THEN
                    PERFORM fold_lists();
                END IF;
                RETURN NULL;
            END $keep$;
            CREATE OR REPLACE TRIGGER keep_list_on_%2$s AFTER %2$s ON %1$s REFERENCING %3$s FOR EACH STATEMENT EXECUTE FUNCTION keep_%1$s_on_%2$s();
        $sql$, list, transition.event, transition.tables, transition.touched, transition.changes, columns, within, part, parts);
    END LOOP;
    EXECUTE format('CREATE OR REPLACE TRIGGER keep_list_on_truncate AFTER TRUNCATE ON %s FOR EACH STATEMENT EXECUTE FUNCTION empty_list()', list);
    IF NOT EXISTS (SELECT FROM lists l WHERE l.name = list::text AND l.facets = columns AND l.within = keep_lists.within) THEN
        -- Wait until no other transaction folds the list: it would write positions of keys that are replaced here.
        PERFORM pg_advisory_xact_lock(hashtext('list'), hashtext(list::text));
        PERFORM recount_list(list::text, columns, within);
        INSERT INTO lists (name, facets, within) VALUES (list::text, columns, keep_lists.within)
        ON CONFLICT (name) DO UPDATE SET facets = EXCLUDED.facets, within = EXCLUDED.within;
    END IF;
END $$;

-- Return whether recounting a list, or a part of it, is cheaper than appending the changes.
CREATE OR REPLACE FUNCTION is_bulk(the_list text, part jsonb, touched bigint) RETURNS boolean STABLE LANGUAGE sql BEGIN ATOMIC
    SELECT 4 * touched > coalesce((SELECT total FROM list_contents WHERE list = the_list AND facet = part), 0);
END;

-- Reset the totals of a table after TRUNCATE.
CREATE OR REPLACE FUNCTION empty_list() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM list_changes WHERE list = TG_TABLE_NAME;
    DELETE FROM list_contents WHERE list = TG_TABLE_NAME;
    RETURN NULL;
END $$;
