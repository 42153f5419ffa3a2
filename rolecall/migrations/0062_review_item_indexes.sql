-- Every query for the items of a reviewer names the review too, which other indexes serve.
DROP INDEX review_items_waiting;
