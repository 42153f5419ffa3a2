-- Create the tables of personnel events and their stages.
CREATE TABLE personnel_events (
    id            uuid PRIMARY KEY,
    number        bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    type          text NOT NULL,
    status        text NOT NULL DEFAULT 'Scheduled',
    reporter_id   uuid NOT NULL,
    reporter_name text NOT NULL,
    assignee_id   uuid,
    assignee_name text,
    identity_id   uuid NOT NULL REFERENCES identities,
    -- What a role transition has not changed yet: `changes` has the new values of columns of the identity,
    -- `custom_fields` those of its custom fields, by number.
    changes       jsonb NOT NULL DEFAULT '{}',
    custom_fields jsonb NOT NULL DEFAULT '{}',
    needed_on     timestamptz NOT NULL,
    needed_until  timestamptz,
    completed_on  timestamptz,
    list_key      text COLLATE "C" GENERATED ALWAYS AS (time_key(needed_on, number)) STORED,
    CONSTRAINT type_is_known CHECK (type IN ('Onboard', 'Offboard', 'Role Transition', 'Absence')),
    CONSTRAINT status_is_known CHECK (status IN ('Pending', 'Open', 'Resolved', 'Completed', 'Canceled', 'Scheduled', 'Snoozed'))
);
CREATE INDEX ON personnel_events (identity_id, list_key);
-- Each combination of filters has an index: docs/lists.md.
CREATE UNIQUE INDEX personnel_events_listed_ ON personnel_events (list_key);
CREATE INDEX personnel_events_listed_type ON personnel_events (type, list_key);
CREATE INDEX personnel_events_listed_status ON personnel_events (status, list_key);
CREATE INDEX personnel_events_listed_type_status ON personnel_events (type, status, list_key);

CREATE TABLE stages (
    event_id          uuid NOT NULL REFERENCES personnel_events,
    sequence          int NOT NULL,
    name              text NOT NULL,
    status            text NOT NULL,
    started_on        timestamptz,
    scheduled_start   timestamptz,
    completed_on      timestamptz,
    completed_by_id   uuid,
    completed_by_name text,
    PRIMARY KEY (event_id, sequence),
    CONSTRAINT name_is_known CHECK (name IN ('Approval', 'Provision', 'Verification', 'Transition', 'Removal')),
    CONSTRAINT status_is_known CHECK (status IN ('Open', 'Completed', 'Canceled', 'Scheduled', 'Snoozed'))
);
-- This index has the scheduled stages in the order of their start. The tick reads only those that are due.
CREATE INDEX stages_to_come ON stages (scheduled_start) WHERE status = 'Scheduled';

-- A queue of personnel events whose requests changed, each with the caller who changed a request. The worker deletes
-- the rows that it takes.
CREATE TABLE event_news (
    number      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    event_id    uuid NOT NULL,
    caller_id   uuid NOT NULL,
    caller_name text NOT NULL
);
CREATE INDEX ON event_news (event_id);

-- This index finds the last request about an account, which the closed loop needs when an import has changed the
-- account.
CREATE INDEX ON access_requests (application_id, target_name, list_key);
