-- Create the table of what the service itself changed in a review, without a decision of a person: which items, why,
-- and because of which import.
CREATE TABLE review_changes (
    number        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    review_id     uuid NOT NULL REFERENCES reviews,
    change        text NOT NULL,
    reason        text NOT NULL,
    import_number int,
    -- The numbers of the changed items, how many there are, and a SHA-256 digest of them.
    items         bigint[] NOT NULL,
    item_count    int NOT NULL,
    digest        text NOT NULL,
    changed_on    timestamptz NOT NULL
);
CREATE INDEX ON review_changes (review_id, number);

-- The import that no longer showed the access of a withdrawn item; null if the item was withdrawn because its
-- application was archived or its review was canceled.
ALTER TABLE review_items ADD COLUMN withdrawn_import int;
CREATE INDEX review_items_flagged ON review_items (review_id) WHERE status = 'Flagged';
