-- When people who came back had left, so that leavers of a past day stay the same.
CREATE TABLE past_departures (
    identity_id uuid NOT NULL,
    since       timestamptz NOT NULL,
    until       timestamptz NOT NULL,
    PRIMARY KEY (identity_id, since)
);
