-- Why an identity had access at a past moment: docs/decisions/0090. What holds now stands in its own table with the time
-- since when; what has ended stands here, from then until then. So only an end costs a row, and an import of new people none.

CREATE TABLE past_model_members (
    identity_id uuid NOT NULL,
    model_id    uuid NOT NULL,
    since       timestamptz NOT NULL,
    until       timestamptz NOT NULL,
    PRIMARY KEY (identity_id, model_id, since)
);

-- Whose an account was: a leaver's account that matched by name belongs to no identity any more, but did.
CREATE TABLE past_matches (
    account_number int NOT NULL,
    identity_id    uuid NOT NULL,
    since          timestamptz NOT NULL,
    until          timestamptz NOT NULL,
    PRIMARY KEY (account_number, since)
);
CREATE INDEX ON past_matches (identity_id);

-- While a request counted as fulfilled and was then reopened or canceled. One that is Resolved or Completed counts since `resolved_on`.
CREATE TABLE past_resolutions (
    request_id uuid NOT NULL,
    since      timestamptz NOT NULL,
    until      timestamptz NOT NULL,
    PRIMARY KEY (request_id, since)
);

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
