-- Totals of lists, exact at every commit. A total is the sum of its shards: a writer touches only the shard
-- of its own connection, so two writers rarely wait for each other.
CREATE TABLE list_totals (
    list  text NOT NULL,
    facet text[] NOT NULL,
    shard int NOT NULL,
    rows  bigint NOT NULL,
    PRIMARY KEY (list, facet, shard)
);

-- Statement-level, so a bulk load counts once. Arguments: the columns that make the facet.
CREATE FUNCTION keep_list_total() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    facet text := coalesce((SELECT string_agg(format('%I::text', name), ', ') FROM unnest(TG_ARGV) AS name), '');
    gained text := format('SELECT ARRAY[%s]::text[] AS facet, count(*) AS n FROM new_rows GROUP BY 1', facet);
    lost text := format('SELECT ARRAY[%s]::text[] AS facet, -count(*) AS n FROM old_rows GROUP BY 1', facet);
    changed text := CASE TG_OP WHEN 'INSERT' THEN gained WHEN 'DELETE' THEN lost ELSE gained || ' UNION ALL ' || lost END;
BEGIN
    EXECUTE format(
        'INSERT INTO list_totals AS t (list, facet, shard, rows)
         SELECT %L, facet, pg_backend_pid() %% 32, sum(n) FROM (%s) AS d GROUP BY facet HAVING sum(n) <> 0 ORDER BY facet
         ON CONFLICT (list, facet, shard) DO UPDATE SET rows = t.rows + EXCLUDED.rows', TG_TABLE_NAME, changed);
    RETURN NULL;
END $$;

CREATE PROCEDURE keep_totals_of(list regclass, VARIADIC facets text[] DEFAULT '{}') LANGUAGE plpgsql AS $$
DECLARE
    arguments text := coalesce((SELECT string_agg(quote_literal(name), ', ') FROM unnest(facets) AS name), '');
BEGIN
    EXECUTE format('CREATE TRIGGER keep_total_on_insert AFTER INSERT ON %s REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION keep_list_total(%s)', list, arguments);
    EXECUTE format('CREATE TRIGGER keep_total_on_delete AFTER DELETE ON %s REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION keep_list_total(%s)', list, arguments);
    IF arguments <> '' THEN
        EXECUTE format('CREATE TRIGGER keep_total_on_update AFTER UPDATE ON %s REFERENCING NEW TABLE AS new_rows OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION keep_list_total(%s)', list, arguments);
    END IF;
END $$;

CREATE TABLE settings (
    name  text PRIMARY KEY,
    value jsonb NOT NULL
);

CREATE TABLE tokens (
    id           uuid PRIMARY KEY,
    public_id    text NOT NULL UNIQUE,
    secret_sha256 bytea NOT NULL,
    name         text NOT NULL UNIQUE,
    scopes       text[] NOT NULL,
    created_at   timestamptz NOT NULL,
    expires_at   timestamptz,
    last_used_at timestamptz,
    revoked_at   timestamptz
);

CREATE TABLE idempotency_keys (
    token_id   uuid NOT NULL REFERENCES tokens,
    key        text NOT NULL,
    digest     bytea NOT NULL,
    status     int,
    answer     bytea,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (token_id, key)
);
CREATE INDEX ON idempotency_keys (created_at);

CREATE TABLE identities (
    id               uuid PRIMARY KEY,
    first_name       text NOT NULL,
    last_name        text NOT NULL,
    email_address    text NOT NULL DEFAULT '',
    type             text NOT NULL DEFAULT 'Employee',
    title            text NOT NULL DEFAULT '',
    company          text NOT NULL DEFAULT '',
    division         text NOT NULL DEFAULT '',
    department       text NOT NULL DEFAULT '',
    office           text NOT NULL DEFAULT '',
    supervisor_id    uuid REFERENCES identities,
    employee_id      text,
    custom_fields    jsonb NOT NULL DEFAULT '{}',
    created_date     timestamptz NOT NULL,
    updated_date     timestamptz NOT NULL,
    first_seen_date  timestamptz NOT NULL,
    inactivated_date timestamptz,
    status           text NOT NULL DEFAULT 'Active',
    -- Made by core/text.sort_key: one order on every server, whatever its locale or ICU version.
    last_name_key    text COLLATE "C" NOT NULL,
    first_name_key   text COLLATE "C" NOT NULL,
    CONSTRAINT type_is_known CHECK (type IN ('Employee', 'Service Account', 'Vendor', 'Shared', 'Mailbox', 'Client', 'Temporary', 'Administrator', 'Auditor', 'Unknown')),
    CONSTRAINT status_is_known CHECK (status IN ('Active', 'Disabled', 'Removed'))
);
CREATE INDEX identities_in_order ON identities (last_name_key, first_name_key, id);
CREATE INDEX ON identities (supervisor_id);
CREATE UNIQUE INDEX ON identities (employee_id);
CREATE INDEX ON identities (lower(email_address)) WHERE email_address <> '';
CALL keep_totals_of('identities');
