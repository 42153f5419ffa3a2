CREATE TABLE webhooks (
    id                         uuid PRIMARY KEY,
    name                       text NOT NULL,
    url                        text NOT NULL,
    events                     text[] NOT NULL,
    application_id             uuid REFERENCES applications,
    enabled                    boolean NOT NULL,
    -- Why the service disabled it; null when a person did.
    disabled_reason            text,
    created_date               timestamptz NOT NULL,
    -- Sealed by core/sealing. The previous one signs too until it expires.
    secret                     bytea NOT NULL,
    previous_secret            bytea,
    previous_secret_expires_on timestamptz,
    -- Since its last success: how many attempts failed, the first of them when.
    failures                   int NOT NULL DEFAULT 0,
    failing_since              timestamptz,
    deleted_on                 timestamptz,
    CONSTRAINT reason_is_known CHECK (disabled_reason IN ('Gone', 'Failing')),
    CONSTRAINT reason_is_of_a_disabled_one CHECK (disabled_reason IS NULL OR NOT enabled),
    CONSTRAINT deleted_is_disabled CHECK (deleted_on IS NULL OR NOT enabled)
);
CREATE UNIQUE INDEX webhooks_by_name ON webhooks (name) WHERE deleted_on IS NULL;

CREATE TABLE webhook_deliveries (
    id                uuid PRIMARY KEY,
    number            bigint GENERATED ALWAYS AS IDENTITY,
    webhook_id        uuid NOT NULL REFERENCES webhooks,
    -- Null for a test, which is about no request.
    access_request_id uuid,
    event             text NOT NULL,
    status            text NOT NULL,
    body              bytea NOT NULL,
    created_date      timestamptz NOT NULL,
    attempt_count     int NOT NULL DEFAULT 0,
    -- Attempts since the schedule began; a resend begins it anew.
    step              int NOT NULL DEFAULT 0,
    -- Until the first attempt has ended; the next event of the same request waits for it.
    untried           boolean NOT NULL DEFAULT true,
    -- While it is being sent: when its lease ends, and it is due again.
    next_attempt_on   timestamptz,
    lease             uuid,
    list_key          text COLLATE "C" GENERATED ALWAYS AS (time_key(created_date, number)) STORED,
    CONSTRAINT status_is_known CHECK (status IN ('Pending', 'Delivered', 'Failed', 'Parked')),
    CONSTRAINT only_pending_is_due CHECK ((status = 'Pending') = (next_attempt_on IS NOT NULL))
    -- The body goes beside the row, which changes several times.
) WITH (toast_tuple_target = 256);
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (webhook_id, next_attempt_on, number) WHERE status = 'Pending';
CREATE INDEX webhook_deliveries_in_flight ON webhook_deliveries (webhook_id) WHERE lease IS NOT NULL;
CREATE INDEX webhook_deliveries_in_turn ON webhook_deliveries (webhook_id, access_request_id, number) WHERE untried AND status = 'Pending';
CREATE INDEX ON webhook_deliveries (access_request_id, list_key);
-- An index for each combination of filters: docs/lists.md.
CREATE UNIQUE INDEX webhook_deliveries_listed_ ON webhook_deliveries (list_key);
CREATE INDEX webhook_deliveries_listed_webhook_id ON webhook_deliveries (webhook_id, list_key);
CREATE INDEX webhook_deliveries_listed_status ON webhook_deliveries (status, list_key);
CREATE INDEX webhook_deliveries_listed_webhook_id_status ON webhook_deliveries (webhook_id, status, list_key);

CREATE TABLE webhook_attempts (
    delivery_id uuid NOT NULL REFERENCES webhook_deliveries ON DELETE CASCADE,
    number      int NOT NULL,
    started_on  timestamptz NOT NULL,
    ended_on    timestamptz,
    outcome     text,
    status_code int,
    response    text,
    PRIMARY KEY (delivery_id, number),
    CONSTRAINT outcome_is_known CHECK (outcome IN ('delivered', 'status', 'timeout', 'connect', 'dns', 'tls', 'blocked', 'unknown')),
    CONSTRAINT ended_has_an_outcome CHECK ((ended_on IS NULL) = (outcome IS NULL))
);

CREATE TABLE webhook_callbacks (
    delivery_id uuid NOT NULL REFERENCES webhook_deliveries ON DELETE CASCADE,
    sha256      bytea NOT NULL,
    number      bigint GENERATED ALWAYS AS IDENTITY,
    received_on timestamptz NOT NULL,
    content     text NOT NULL,
    PRIMARY KEY (delivery_id, sha256)
);

-- A histogram of how long after it was due an attempt ended, by outcome; only ever grows. Sharded, so that workers do not wait for one another.
CREATE TABLE webhook_tallies (
    outcome  text NOT NULL,
    within   double precision NOT NULL,
    shard    int NOT NULL,
    attempts bigint NOT NULL,
    seconds  double precision NOT NULL,
    PRIMARY KEY (outcome, within, shard)
);
