-- Add lists that are always read by the value of some columns, such as the items of one review. `within` has the names
-- of these columns; keep_lists writes it.
ALTER TABLE lists ADD COLUMN within text[] NOT NULL DEFAULT '{}';

-- The reasons of review items: one row for each reason of an item, so that items can be listed by reason at a constant
-- cost (docs/lists.md). A trigger of schema/reviews.sql keeps the status and the reviewer up to date.
CREATE TABLE review_item_reasons (
    review_id      uuid NOT NULL,
    reason         text COLLATE "C" NOT NULL,
    status         text COLLATE "C" NOT NULL,
    reviewer_id    uuid NOT NULL,
    application_id uuid,
    -- The key of the item in the list of the review.
    list_key       text COLLATE "C" NOT NULL,
    PRIMARY KEY (review_id, reason, list_key)
);
INSERT INTO review_item_reasons
SELECT c.review_id, r.reason, c.status, c.reviewer_id, c.application_id, c.list_key
FROM review_items c CROSS JOIN LATERAL unnest(c.facts) AS r (reason);
CREATE INDEX review_item_reasons_listed_status ON review_item_reasons (review_id, reason, status, list_key);
CREATE INDEX review_item_reasons_listed_reviewer_id ON review_item_reasons (review_id, reason, reviewer_id, list_key);
CREATE INDEX review_item_reasons_listed_application_id ON review_item_reasons (review_id, reason, application_id, list_key);
CREATE INDEX review_item_reasons_listed_status_reviewer_id ON review_item_reasons (review_id, reason, status, reviewer_id, list_key);
CREATE INDEX review_item_reasons_listed_status_application_id ON review_item_reasons (review_id, reason, status, application_id, list_key);
CREATE INDEX review_item_reasons_listed_reviewer_id_application_id
    ON review_item_reasons (review_id, reason, reviewer_id, application_id, list_key);
CREATE INDEX review_item_reasons_listed_status_reviewer_id_application_id
    ON review_item_reasons (review_id, reason, status, reviewer_id, application_id, list_key);

-- The reviews whose items the worker still has to list by reason, and the key of the last item that it has listed.
CREATE TABLE reasons_to_list (
    review_id uuid PRIMARY KEY,
    after     text COLLATE "C" NOT NULL DEFAULT ''
);

-- Drop the foreign key, because checking it for a million rows takes a fifth of the time of opening a review, and
-- reviews are never deleted.
ALTER TABLE review_items DROP CONSTRAINT review_items_review_id_fkey;

-- Say in the name of the column what it contains: the import that opened a review of unexplained access.
ALTER TABLE reviews RENAME surprise_of TO opened_by_import;
