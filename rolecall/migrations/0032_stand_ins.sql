-- Create the tables of stand-ins: who responds for a person, and when. During a leave of absence, the supervisor stands
-- in.
CREATE TABLE stand_ins (
    id           uuid PRIMARY KEY,
    number       bigint GENERATED ALWAYS AS IDENTITY,
    identity_id  uuid NOT NULL REFERENCES identities,
    stand_in_id  uuid NOT NULL REFERENCES identities,
    -- The type of the responses; null for every type.
    type         text,
    starts_on    timestamptz NOT NULL,
    ends_on      timestamptz NOT NULL,
    comment      text NOT NULL DEFAULT '',
    created_date timestamptz NOT NULL,
    created_by   text NOT NULL,
    CONSTRAINT type_is_known CHECK (type IN ('Approve', 'Resolve', 'Verify')),
    CONSTRAINT stand_in_is_another_person CHECK (identity_id <> stand_in_id)
);
CREATE INDEX ON stand_ins (identity_id, ends_on);
CREATE INDEX ON stand_ins (stand_in_id, ends_on);

-- The leaves of absence that have not ended; the trigger `keep_absences` of personnel_events keeps them up to date.
CREATE TABLE absences (
    event_id    uuid PRIMARY KEY,
    identity_id uuid NOT NULL REFERENCES identities,
    starts_on   timestamptz NOT NULL,
    ends_on     timestamptz
);
CREATE INDEX ON absences (identity_id);
INSERT INTO absences (event_id, identity_id, starts_on, ends_on)
SELECT id, identity_id, needed_on, needed_until FROM personnel_events
WHERE type = 'Absence' AND status NOT IN ('Completed', 'Canceled');

-- The stand-in who responded for the reviewer.
ALTER TABLE responses ADD COLUMN stand_in_id uuid, ADD COLUMN stand_in_name text,
    ADD CONSTRAINT stand_in_has_a_name CHECK ((stand_in_id IS NULL) = (stand_in_name IS NULL));
