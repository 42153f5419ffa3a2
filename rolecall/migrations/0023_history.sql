-- Why an identity had access at a past moment: docs/decisions/0185. What holds now stands in its own table with the time
-- since when; what has ended stands here, from then until then. So only an end costs a row, and an import of new people none.

CREATE TABLE past_model_members (
    identity_id uuid NOT NULL,
    model_id    uuid NOT NULL,
    since       timestamptz NOT NULL,
    until       timestamptz NOT NULL,
    PRIMARY KEY (identity_id, model_id, since)
);

CREATE FUNCTION keep_past_model_members() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    moment timestamptz := written_on();
BEGIN
    INSERT INTO past_model_members AS p (identity_id, model_id, since, until)
    SELECT identity_id, model_id, since, moment FROM old_rows WHERE since < moment
    ON CONFLICT (identity_id, model_id, since) DO UPDATE SET until = greatest(p.until, EXCLUDED.until);
    RETURN NULL;
END $$;
CREATE TRIGGER keep_past AFTER DELETE ON access_model_members REFERENCING OLD TABLE AS old_rows
    FOR EACH STATEMENT EXECUTE FUNCTION keep_past_model_members();

-- Whose an account was: a leaver's account that matched by name belongs to no identity any more, but did.
CREATE TABLE past_matches (
    account_number int NOT NULL,
    identity_id    uuid NOT NULL,
    since          timestamptz NOT NULL,
    until          timestamptz NOT NULL,
    PRIMARY KEY (account_number, since)
);
CREATE INDEX ON past_matches (identity_id);

CREATE FUNCTION keep_past_matches() RETURNS trigger LANGUAGE plpgsql AS $$
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
CREATE TRIGGER keep_past AFTER UPDATE ON accounts REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION keep_past_matches();

-- While a request counted as fulfilled and was then reopened or canceled. One that is Resolved or Completed counts since `resolved_on`.
CREATE TABLE past_resolutions (
    request_id uuid NOT NULL,
    since      timestamptz NOT NULL,
    until      timestamptz NOT NULL,
    PRIMARY KEY (request_id, since)
);

CREATE FUNCTION keep_past_resolutions() RETURNS trigger LANGUAGE plpgsql AS $$
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
CREATE TRIGGER keep_past AFTER UPDATE ON access_requests REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION keep_past_resolutions();

-- What a database of before knows: who matches a model has its `since` already; when requests were resolved and reopened
-- stands in their events. Who matched a model and no longer does was not kept.
INSERT INTO past_resolutions (request_id, since, until)
SELECT request_id, created_at, ended_at FROM (
    SELECT request_id, name, created_at, lead(name) OVER story AS ended_by, lead(created_at) OVER story AS ended_at
    FROM access_request_events
    WHERE name IN ('AccessRequestResolved', 'AccessRequestReopened', 'AccessRequestCompleted', 'AccessRequestCanceled')
    WINDOW story AS (PARTITION BY request_id ORDER BY number)
) AS told
WHERE name = 'AccessRequestResolved' AND ended_by IN ('AccessRequestReopened', 'AccessRequestCanceled')
  AND created_at < ended_at
ON CONFLICT DO NOTHING;

-- Imports write versions by the hundred thousand and are their only writer, and identities are never deleted.
ALTER TABLE identity_versions DROP CONSTRAINT identity_versions_identity_id_fkey;
