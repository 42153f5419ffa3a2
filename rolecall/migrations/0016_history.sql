-- Store past states, which explain why an identity had access at a past moment: docs/decisions/0090. Current states are
-- in other tables, with their start. A state that has ended has a row here, with its start and its end. So a row is
-- written only when a state ends, and an import of new people writes none.

CREATE TABLE past_model_members (
    identity_id uuid NOT NULL,
    model_id    uuid NOT NULL,
    since       timestamptz NOT NULL,
    until       timestamptz NOT NULL,
    PRIMARY KEY (identity_id, model_id, since)
);

-- The identities that accounts matched in the past. For example, an account that matched a leaver by name belongs to no
-- identity any more.
CREATE TABLE past_matches (
    account_number int NOT NULL,
    identity_id    uuid NOT NULL,
    since          timestamptz NOT NULL,
    until          timestamptz NOT NULL,
    PRIMARY KEY (account_number, since)
);
CREATE INDEX ON past_matches (identity_id);

-- The periods in which a request counted as fulfilled before it was reopened or canceled. A request that is Resolved or
-- Completed has counted since `resolved_on`.
CREATE TABLE past_resolutions (
    request_id uuid NOT NULL,
    since      timestamptz NOT NULL,
    until      timestamptz NOT NULL,
    PRIMARY KEY (request_id, since)
);

-- Insert what is known about the past: the events of requests show when they were resolved and reopened. Members of a
-- model have `since` already. Former members of a model were not recorded.
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

-- Drop the foreign key, because imports write hundreds of thousands of versions and are their only writer, and
-- identities are never deleted.
ALTER TABLE identity_versions DROP CONSTRAINT identity_versions_identity_id_fkey;
