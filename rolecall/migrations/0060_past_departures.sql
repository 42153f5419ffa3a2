-- Store the periods for which people had left before they came back, so that the list of leavers on a past day stays
-- the same.
CREATE TABLE past_departures (
    identity_id uuid NOT NULL,
    since       timestamptz NOT NULL,
    until       timestamptz NOT NULL,
    PRIMARY KEY (identity_id, since)
);
