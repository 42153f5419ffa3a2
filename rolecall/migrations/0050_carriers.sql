-- Create the tables of carriers, which carry out the approved requests of an application. `definition` is the
-- configuration of the carrier.
CREATE TABLE carriers (
    application_id uuid PRIMARY KEY REFERENCES applications,
    definition     jsonb NOT NULL,
    changed_on     timestamptz NOT NULL,
    -- When the current mode took effect. Requests that opened before then are left to people.
    mode_since     timestamptz NOT NULL,
    -- When the carrier last made a change that an import has to verify; null if there is no such change.
    unverified_on  timestamptz
);

-- The progress of the requests that a carrier took up.
CREATE TABLE carried_requests (
    request_id     uuid PRIMARY KEY REFERENCES access_requests,
    application_id uuid NOT NULL REFERENCES applications,
    opened_on      timestamptz NOT NULL,
    state          text NOT NULL CHECK (state IN ('Waiting', 'Held', 'Dry Run', 'Left', 'Done')),
    reason         text NOT NULL DEFAULT '',
    attempts       int NOT NULL DEFAULT 0,
    next_on        timestamptz NOT NULL,
    changed_on     timestamptz NOT NULL,
    -- Whether a person released the request from the brake.
    is_released    boolean NOT NULL DEFAULT false
);
CREATE INDEX carried_requests_by_state ON carried_requests (application_id, state, changed_on);

-- The steps of requests. Each step is stored before it is sent.
CREATE TABLE carrier_steps (
    request_id     uuid NOT NULL REFERENCES carried_requests,
    position       int NOT NULL,
    application_id uuid NOT NULL REFERENCES applications,
    step           jsonb NOT NULL,
    is_removal     boolean NOT NULL,
    state          text NOT NULL CHECK (state IN ('Planned', 'Sent', 'Done')),
    answer         text NOT NULL DEFAULT '',
    sent_on        timestamptz,
    PRIMARY KEY (request_id, position)
);
CREATE INDEX carrier_steps_by_time ON carrier_steps (application_id, sent_on) WHERE sent_on IS NOT NULL;
