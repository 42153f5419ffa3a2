-- Name the table for what it contains: where the pages of lists begin that never change again, found and stored by the
-- first reader. Page 0 has the total alone. Its rows are a cache, so none are moved.
DROP TABLE settled_pages;
CREATE TABLE stored_pages (
    list     text COLLATE "C" NOT NULL,
    page     int NOT NULL,
    total    bigint NOT NULL,
    key      text[] COLLATE "C",
    found_on timestamptz NOT NULL,
    PRIMARY KEY (list, page)
);
CREATE INDEX stored_pages_by_age ON stored_pages (found_on) WHERE page = 0;
