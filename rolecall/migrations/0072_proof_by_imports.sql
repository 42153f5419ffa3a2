-- Drop `is_proved`, because only the comparison of items with an import proves a removal, never the completion of a
-- request.
ALTER TABLE review_news DROP COLUMN is_proved;
