-- Replace the table settled_pages by stored_pages, whose name says what it contains: the first key of each page of the
-- lists that never change again, stored by the first reader. Page 0 has only the total. The rows are a cache, so they
-- are not copied.
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
