-- Drop an index that is not needed: every query for the items of a reviewer also names the review, for which there are
-- other indexes.
DROP INDEX review_items_waiting;
-- This index has the few items whose reviewer is not the person whom the stage names.
CREATE INDEX review_items_moved ON review_items (review_id) WHERE moved <> '';
