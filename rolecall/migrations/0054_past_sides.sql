-- Store the access on each side of a conflict before duties or rules change, because it cannot be computed from them
-- afterwards.
CREATE TABLE past_sides (
    conflict_id uuid NOT NULL REFERENCES conflicts,
    duty_id     uuid NOT NULL REFERENCES duties,
    account     int NOT NULL,
    kind        text NOT NULL,
    number      int NOT NULL,
    path        int[] NOT NULL,
    access      text NOT NULL,
    during      int4range NOT NULL
);
CREATE INDEX past_sides_of_conflicts ON past_sides (conflict_id);
CREATE INDEX past_sides_of_duties ON past_sides (duty_id);
