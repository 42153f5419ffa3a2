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
    -- Columns of the identity that a role transition will set and has not set yet, and its custom fields by number.
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
-- An index for each combination of filters: docs/lists.md.
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
-- What the tick reads: its size is what is still to come, its cost what is due.
CREATE INDEX stages_to_come ON stages (scheduled_start) WHERE status = 'Scheduled';

-- What befell the requests of an event, and by whom; whoever follows the event takes it by deleting it.
CREATE TABLE event_news (
    number      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    event_id    uuid NOT NULL,
    caller_id   uuid NOT NULL,
    caller_name text NOT NULL
);
CREATE INDEX ON event_news (event_id);

-- The last word on an account: what the closed loop asks when an import changed it.
CREATE INDEX ON access_requests (application_id, target_name, list_key);
