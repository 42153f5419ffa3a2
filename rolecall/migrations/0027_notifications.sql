-- Create the tables of notifications, of the messages that were sent, and of the settings (docs/notifications.md).

CREATE TABLE notifications (
    id              uuid PRIMARY KEY,
    number          bigint GENERATED ALWAYS AS IDENTITY,
    identity_id     uuid NOT NULL REFERENCES identities,
    kind            text NOT NULL,
    item_kind       text NOT NULL,
    item_id         uuid NOT NULL,
    -- For a request, the type of response that it waits for, or the event that decided it.
    part            text NOT NULL DEFAULT '',
    created_date    timestamptz NOT NULL,
    is_read         boolean NOT NULL DEFAULT false,
    status          text NOT NULL DEFAULT 'New',
    channel         text,
    -- Notifications with the same bundle are sent as one message: a digest, or a chat message about one item to several
    -- people.
    bundle          text,
    next_attempt_on timestamptz,
    lease           uuid,
    step            int NOT NULL DEFAULT 0,
    message_id      uuid,
    list_key        text COLLATE "C" NOT NULL GENERATED ALWAYS AS (time_key(created_date, number)) STORED,
    CONSTRAINT item_kind_is_known CHECK (item_kind IN ('Access Request', 'Personnel Event', 'Import', 'Webhook', 'Channel')),
    CONSTRAINT status_is_known CHECK (status IN ('New', 'Pending', 'Sent', 'Failed', 'Withdrawn', 'Console')),
    CONSTRAINT channel_is_known CHECK (channel IN ('Email', 'Slack', 'Teams', 'Console')),
    CONSTRAINT only_unsent_is_due CHECK ((status IN ('New', 'Pending')) = (next_attempt_on IS NOT NULL)),
    CONSTRAINT pending_has_a_bundle CHECK (status <> 'Pending' OR bundle IS NOT NULL AND channel IS NOT NULL)
);
CREATE INDEX notifications_new ON notifications (number) WHERE status = 'New';
CREATE INDEX notifications_due ON notifications (next_attempt_on, number) WHERE status = 'Pending';
CREATE INDEX notifications_bundled ON notifications (bundle) WHERE status = 'Pending';
CREATE INDEX notifications_unread ON notifications (item_id) WHERE NOT is_read;
-- Each combination of filters has an index: docs/lists.md.
CREATE UNIQUE INDEX notifications_listed_ ON notifications (list_key);
CREATE INDEX notifications_listed_identity_id ON notifications (identity_id, list_key);
CREATE INDEX notifications_listed_is_read ON notifications (is_read, list_key);
CREATE INDEX notifications_listed_identity_id_is_read ON notifications (identity_id, is_read, list_key);

-- Every message that was sent or tried, with its exact text. A message that is tried again has a row for each attempt.
CREATE TABLE notification_messages (
    id          uuid PRIMARY KEY,
    number      bigint GENERATED ALWAYS AS IDENTITY,
    channel     text NOT NULL,
    kind        text NOT NULL,
    identity_id uuid REFERENCES identities,
    recipient   text NOT NULL,
    address     text NOT NULL,
    subject     text NOT NULL,
    text        text NOT NULL,
    html        text NOT NULL,
    attempt     int NOT NULL,
    outcome     text NOT NULL DEFAULT 'sending',
    response    text,
    started_on  timestamptz NOT NULL,
    ended_on    timestamptz,
    list_key    text COLLATE "C" NOT NULL GENERATED ALWAYS AS (time_key(started_on, number)) STORED,
    CONSTRAINT channel_is_known CHECK (channel IN ('Email', 'Slack', 'Teams')),
    CONSTRAINT outcome_is_known CHECK (outcome IN ('sending', 'sent', 'kept', 'deferred', 'refused', 'channel', 'unknown')),
    CONSTRAINT ended_has_an_outcome CHECK ((ended_on IS NULL) = (outcome = 'sending'))
) WITH (toast_tuple_target = 256);
CREATE UNIQUE INDEX notification_messages_listed_ ON notification_messages (list_key);
CREATE INDEX notification_messages_listed_outcome ON notification_messages (outcome, list_key);

CREATE TABLE notification_settings (
    name  text PRIMARY KEY,
    value jsonb NOT NULL
);

-- The password of the mail server and the URLs of Slack and Teams, encrypted by core/sealing.py.
CREATE TABLE notification_secrets (
    channel text PRIMARY KEY,
    secret  bytea NOT NULL,
    set_on  timestamptz NOT NULL
);

-- The health of each channel: the number of attempts that failed since the last success, when the first of them failed,
-- and the last error.
CREATE TABLE notification_channels (
    channel       text PRIMARY KEY,
    failures      int NOT NULL DEFAULT 0,
    failing_since timestamptz,
    last_error    text,
    paused_until  timestamptz
);

-- The channel and the rhythm that a person chose for a kind of notification, instead of the default of this kind.
CREATE TABLE notification_preferences (
    identity_id uuid NOT NULL REFERENCES identities,
    kind        text NOT NULL,
    channel     text NOT NULL,
    rhythm      text NOT NULL,
    PRIMARY KEY (identity_id, kind)
);
-- The time zone that a person chose.
CREATE TABLE notification_zones (
    identity_id uuid PRIMARY KEY REFERENCES identities,
    zone        text NOT NULL
);

-- The last failure of each edited template while a message was written; the built-in template was used instead.
CREATE TABLE notification_template_faults (
    kind       text PRIMARY KEY,
    problem    text NOT NULL,
    noticed_on timestamptz NOT NULL
);

-- The reminders and escalations that were made, so that none is made twice while a request keeps its status.
CREATE TABLE notification_steps (
    request_id uuid NOT NULL REFERENCES access_requests,
    since      timestamptz NOT NULL,
    step       text NOT NULL,
    PRIMARY KEY (request_id, since, step)
);
