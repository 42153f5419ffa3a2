-- Every query for the items of a reviewer names the review too, which other indexes serve.
DROP INDEX review_items_waiting;
-- The few items whose reviewer was replaced.
CREATE INDEX review_items_moved ON review_items (review_id) WHERE moved <> '';
