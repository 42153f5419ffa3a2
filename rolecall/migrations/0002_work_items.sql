-- Create the tables of the activity and the comments of access requests and personnel events. Rows are ordered by
-- number, because a writer locks the item before it takes a number, but may read the clock before it waits for the
-- lock.
CREATE TABLE activity (
    number       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    item_id      uuid NOT NULL,
    created_date timestamptz NOT NULL,
    author       text NOT NULL,
    action       text,
    content      text NOT NULL
);
CREATE INDEX ON activity (item_id, number);

CREATE TABLE comments (
    number       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    item_id      uuid NOT NULL,
    created_date timestamptz NOT NULL,
    author       text NOT NULL,
    content      text NOT NULL
);
CREATE INDEX ON comments (item_id, number);
