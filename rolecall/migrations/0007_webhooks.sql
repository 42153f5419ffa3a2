-- Create the tables of webhooks, with their deliveries, attempts and callbacks.
CREATE TABLE webhooks (
    id                         uuid PRIMARY KEY,
    name                       text NOT NULL,
    url                        text NOT NULL,
    events                     text[] NOT NULL,
    application_id             uuid REFERENCES applications,
    enabled                    boolean NOT NULL,
    -- The reason why the service disabled the webhook; null if a person disabled it or if it is enabled.
    disabled_reason            text,
    created_date               timestamptz NOT NULL,
    -- Secrets are encrypted by core/sealing.py. The previous secret signs deliveries too until it expires.
    secret                     bytea NOT NULL,
    previous_secret            bytea,
    previous_secret_expires_on timestamptz,
    -- The number of attempts that failed since the last success or since a person enabled the webhook again.
    failures                   int NOT NULL DEFAULT 0,
    -- When the first of these attempts failed.
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
    -- Null for a delivery that is not about a request, such as a test.
    access_request_id uuid,
    event             text NOT NULL,
    status            text NOT NULL,
    body              bytea NOT NULL,
    created_date      timestamptz NOT NULL,
    attempt_count     int NOT NULL DEFAULT 0,
    -- The number of attempts since the retry schedule began; a resend restarts the schedule.
    step              int NOT NULL DEFAULT 0,
    -- True until the first attempt has ended. Until then, later deliveries about the same request to this webhook wait.
    untried           boolean NOT NULL DEFAULT true,
    -- When the delivery is due. While it is being sent, this is the time when its lease expires and it is due again.
    next_attempt_on   timestamptz,
    lease             uuid,
    list_key          text COLLATE "C" GENERATED ALWAYS AS (time_key(created_date, number)) STORED,
    CONSTRAINT status_is_known CHECK (status IN ('Pending', 'Delivered', 'Failed', 'Parked')),
    CONSTRAINT only_pending_is_due CHECK ((status = 'Pending') = (next_attempt_on IS NOT NULL))
    -- Store the body outside the row, because the row is updated several times.
) WITH (toast_tuple_target = 256);
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (webhook_id, next_attempt_on, number) WHERE status = 'Pending';
CREATE INDEX webhook_deliveries_in_flight ON webhook_deliveries (webhook_id) WHERE lease IS NOT NULL;
CREATE INDEX webhook_deliveries_in_turn ON webhook_deliveries (webhook_id, access_request_id, number) WHERE untried AND status = 'Pending';
CREATE INDEX ON webhook_deliveries (access_request_id, list_key);
-- Each combination of filters has an index: docs/lists.md.
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

-- A histogram, by outcome, of the time from when an attempt was due to when it ended. The counters only grow. They are
-- sharded, so that workers do not wait for each other.
CREATE TABLE webhook_tallies (
    outcome  text NOT NULL,
    within   double precision NOT NULL,
    shard    int NOT NULL,
    attempts bigint NOT NULL,
    seconds  double precision NOT NULL,
    PRIMARY KEY (outcome, within, shard)
);
