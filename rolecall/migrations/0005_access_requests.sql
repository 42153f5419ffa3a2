-- Create the tables of access requests, with their privileges, responses and events, and of the roles of console users.
CREATE TABLE access_requests (
    id              uuid PRIMARY KEY,
    number          bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    action          text NOT NULL,
    status          text NOT NULL,
    reporter_id     uuid NOT NULL,
    reporter_name   text NOT NULL,
    assignee_id     uuid,
    assignee_name   text,
    target_type     text NOT NULL,
    target_name     text NOT NULL,
    nomenclature    text NOT NULL DEFAULT '',
    identity_id     uuid REFERENCES identities,
    application_id  uuid NOT NULL REFERENCES applications,
    metadata        jsonb NOT NULL DEFAULT '[]',
    -- The access models as they were when the request was created: id, name, description, willBeInEffect.
    access_models   jsonb NOT NULL DEFAULT '[]',
    scheduled_start timestamptz,
    started_on      timestamptz,
    approved_on     timestamptz,
    resolved_on     timestamptz,
    verified_on     timestamptz,
    completed_on    timestamptz,
    canceled_on     timestamptz,
    snoozed_until   timestamptz,
    created_at      timestamptz NOT NULL,
    -- When the request got its current status; this shows how long it has been waiting.
    status_since    timestamptz NOT NULL,
    list_key        text COLLATE "C" NOT NULL GENERATED ALWAYS AS (time_key(created_at, number)) STORED,
    CONSTRAINT action_is_known CHECK (action IN ('Add', 'Change', 'Remove', 'Suspend', 'Restore')),
    CONSTRAINT status_is_known CHECK (status IN ('Pending', 'Open', 'Resolved', 'Completed', 'Canceled', 'Scheduled', 'Snoozed')),
    CONSTRAINT assignee_is_whole CHECK ((assignee_id IS NULL) = (assignee_name IS NULL)),
    CONSTRAINT target_is_a_person_or_a_group CHECK (target_type = CASE WHEN identity_id IS NULL THEN 'Group' ELSE 'User' END)
);
-- Each combination of filters has an index: docs/lists.md.
CREATE UNIQUE INDEX access_requests_listed_ ON access_requests (list_key);
CREATE INDEX access_requests_listed_application_id ON access_requests (application_id, list_key);
CREATE INDEX access_requests_listed_status ON access_requests (status, list_key);
CREATE INDEX access_requests_listed_application_id_status ON access_requests (application_id, status, list_key);
CREATE INDEX access_requests_listed_action ON access_requests (action, list_key);
CREATE INDEX access_requests_listed_application_id_action ON access_requests (application_id, action, list_key);
CREATE INDEX access_requests_listed_status_action ON access_requests (status, action, list_key);
CREATE INDEX access_requests_listed_application_id_status_action ON access_requests (application_id, status, action, list_key);
CREATE INDEX ON access_requests (identity_id, list_key);
CREATE INDEX access_requests_to_start ON access_requests (scheduled_start) WHERE status = 'Scheduled';
CREATE INDEX access_requests_to_wake ON access_requests (snoozed_until) WHERE status = 'Snoozed';

-- The requests that wait for a person's response, those that have waited longest first. Triggers update the table in
-- the transaction that changes a request. There is no foreign key, because requests are never deleted.
CREATE TABLE waiting_requests (
    request_id uuid PRIMARY KEY,
    list_key   text COLLATE "C" NOT NULL
);
CREATE UNIQUE INDEX waiting_requests_listed_ ON waiting_requests (list_key);

CREATE TABLE privileges (
    request_id       uuid NOT NULL REFERENCES access_requests,
    position         int NOT NULL,
    initial_access   text NOT NULL,
    requested_access text NOT NULL,
    approved_access  text NOT NULL DEFAULT 'None',
    -- The access to which a reviewer lowered the requested access; it becomes the approved access when the request is
    -- approved.
    lowered_access   text,
    header           text NOT NULL,
    section          text NOT NULL,
    permission       text NOT NULL,
    description      text NOT NULL,
    risk_rating      text NOT NULL,
    value            text NOT NULL,
    sources          text[] NOT NULL,
    origins          text[] NOT NULL,
    PRIMARY KEY (request_id, position),
    CONSTRAINT initial_access_is_known CHECK (initial_access IN ('None', 'Unrestricted', 'Grant', 'Deny', 'Modify')),
    CONSTRAINT requested_access_is_known CHECK (requested_access IN ('None', 'Unrestricted', 'Grant', 'Deny', 'Modify')),
    CONSTRAINT approved_access_is_known CHECK (approved_access IN ('None', 'Unrestricted', 'Grant', 'Deny', 'Modify')),
    CONSTRAINT lowered_access_is_known CHECK (lowered_access IN ('None', 'Unrestricted', 'Grant', 'Deny', 'Modify')),
    CONSTRAINT risk_rating_is_known CHECK (risk_rating IN ('None', 'Low', 'Moderate', 'High', 'Critical'))
);

-- The reviewers who are asked to respond, and their responses. The rows with one rule number form a rule; the rules of
-- one type form a requirement.
CREATE TABLE responses (
    request_id    uuid NOT NULL REFERENCES access_requests,
    type          text NOT NULL,
    rule          int NOT NULL,
    position      int NOT NULL,
    reason        text NOT NULL,
    reviewer_id   uuid NOT NULL,
    reviewer_name text NOT NULL,
    response      text NOT NULL DEFAULT 'Pending',
    -- False for a person who resolved or verified the request without being asked.
    asked         boolean NOT NULL DEFAULT true,
    PRIMARY KEY (request_id, type, rule, position),
    CONSTRAINT type_is_known CHECK (type IN ('Approve', 'Resolve', 'Verify')),
    CONSTRAINT response_is_known CHECK (response IN ('Pending', 'Approved', 'Rejected'))
);

-- The review items and personnel events that a request belongs to. Their packages write the rows and keep `status` up
-- to date.
CREATE TABLE related_items (
    request_id uuid NOT NULL REFERENCES access_requests,
    item_id    uuid NOT NULL,
    kind       text NOT NULL,
    number     bigint NOT NULL,
    status     text NOT NULL,
    stage      text,
    PRIMARY KEY (request_id, item_id),
    CONSTRAINT kind_is_known CHECK (kind IN ('Review Item', 'Personnel Event'))
);
CREATE INDEX ON related_items (item_id);

-- The events of access requests. Each has the whole request as it was right after the event, as in the webhook payload.
CREATE TABLE access_request_events (
    number         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    request_id     uuid NOT NULL REFERENCES access_requests,
    application_id uuid NOT NULL,
    name           text NOT NULL,
    created_at     timestamptz NOT NULL,
    caller_id      uuid NOT NULL,
    caller_name    text NOT NULL,
    -- The type is json and not jsonb, because the order of the fields is part of the contract.
    request        json NOT NULL
);
CREATE INDEX ON access_request_events (request_id, number);

-- The roles of the people who use the console. Administrators are asked to respond if no other reviewer is found.
CREATE TABLE console_roles (
    identity_id uuid PRIMARY KEY REFERENCES identities,
    role        text NOT NULL,
    -- The e-mail address with which the person signs in. It is set when the role is given, and stays the same if that
    -- of the identity changes.
    email       text NOT NULL DEFAULT '',
    CONSTRAINT role_is_known CHECK (role IN ('Administrator', 'Operator', 'Reviewer', 'Provisioner', 'Auditor'))
);
CREATE UNIQUE INDEX one_role_an_address ON console_roles (lower(email)) WHERE email <> '';
