-- Lists that are only read by the value of some columns, such as the items of one review; written by keep_lists.
ALTER TABLE lists ADD COLUMN within text[] NOT NULL DEFAULT '{}';

-- Review items by each of their reasons, so that they can be listed by reason at a flat cost. A trigger of schema/reviews.sql keeps the
-- status and the reviewer; docs/lists.md.
CREATE TABLE review_item_reasons (
    review_id      uuid NOT NULL,
    reason         text COLLATE "C" NOT NULL,
    status         text COLLATE "C" NOT NULL,
    reviewer_id    uuid NOT NULL,
    application_id uuid,
    -- The key of the item in its review.
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

-- Reviews whose items a worker lists by reason, and the key of the last one that it has listed.
CREATE TABLE reasons_to_list (
    review_id uuid PRIMARY KEY,
    after     text COLLATE "C" NOT NULL DEFAULT ''
);

-- A check for each of a million rows takes as long as a fifth of opening; reviews are never deleted.
ALTER TABLE review_items DROP CONSTRAINT review_items_review_id_fkey;

-- The import that opened a review of unexplained access.
ALTER TABLE reviews RENAME surprise_of TO opened_by_import;
