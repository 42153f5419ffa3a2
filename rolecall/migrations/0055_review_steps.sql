-- Store which people extended, confirmed, closed or canceled a review, and which of its items are about their own
-- access.
CREATE TABLE review_steps (
    number       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    review_id    uuid NOT NULL REFERENCES reviews,
    step         text NOT NULL,
    detail       text NOT NULL,
    -- The numbers of the items that are about the person's own accounts.
    own_items    bigint[] NOT NULL,
    done_by      uuid NOT NULL,
    done_by_name text NOT NULL,
    done_on      timestamptz NOT NULL,
    CONSTRAINT step_is_known CHECK (step IN ('Extended', 'Hold Confirmed', 'Closed', 'Canceled'))
);
CREATE INDEX ON review_steps (review_id, number);
-- The due date when the review was opened; null for reviews that were opened before this version.
ALTER TABLE reviews ADD COLUMN first_due_on timestamptz;
